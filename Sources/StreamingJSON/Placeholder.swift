// The first source of StreamingJSON takes this file's place.
