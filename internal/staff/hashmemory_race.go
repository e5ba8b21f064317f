//go:build race

package staff

// hashMemory is small in a build with the race detector. The detector follows each byte, and a hash with the usual memory would take it a
// second.
const hashMemory = 64
