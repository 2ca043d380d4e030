// The first source of CloudKitEmulator takes this file's place.
