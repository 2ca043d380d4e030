// The first test of CloudKitWebServices takes this file's place.
