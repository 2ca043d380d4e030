// The first source of CloudKitWebServices takes this file's place.
