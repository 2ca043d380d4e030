// The first test of CloudKitModel takes this file's place.
