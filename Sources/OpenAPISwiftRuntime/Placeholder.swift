// The first source of OpenAPISwiftRuntime takes this file's place.
