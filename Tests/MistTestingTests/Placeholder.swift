// The first test of MistTesting takes this file's place.
