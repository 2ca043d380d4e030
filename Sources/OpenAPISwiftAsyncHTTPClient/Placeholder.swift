// The first source of OpenAPISwiftAsyncHTTPClient takes this file's place.
