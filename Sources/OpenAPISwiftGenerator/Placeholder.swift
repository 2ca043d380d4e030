// The first source of OpenAPISwiftGenerator takes this file's place.
