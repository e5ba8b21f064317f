//go:build !race

package staff

// hashMemory is the memory that the hash of a password needs, in KiB (OWASP's second recommendation).
const hashMemory = 19 * 1024
