// The first test of CloudKitEmulator takes this file's place.
