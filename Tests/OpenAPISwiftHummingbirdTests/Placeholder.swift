// The first test of OpenAPISwiftHummingbird takes this file's place.
