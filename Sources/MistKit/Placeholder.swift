// The first source of MistKit takes this file's place.
