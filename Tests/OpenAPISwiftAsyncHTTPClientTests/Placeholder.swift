// The first test of OpenAPISwiftAsyncHTTPClient takes this file's place.
