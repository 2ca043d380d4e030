// The first source of OpenAPISwiftHummingbird takes this file's place.
