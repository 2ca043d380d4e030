// The first source of CloudKitModel takes this file's place.
