// The first source of MistTesting takes this file's place.
