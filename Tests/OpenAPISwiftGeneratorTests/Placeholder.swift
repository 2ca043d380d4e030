// The first test of OpenAPISwiftGenerator takes this file's place.
