// The first test of MistKit takes this file's place.
