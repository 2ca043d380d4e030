// The first source takes this file's place.
