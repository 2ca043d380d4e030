// The first test of OpenAPISwiftRuntime takes this file's place.
