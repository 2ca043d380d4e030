// The first test of CloudKitEmulatorServer takes this file's place.
