// The first test of StreamingJSON takes this file's place.
