// The first source of CloudKitEmulatorServer takes this file's place.
