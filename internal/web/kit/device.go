package kit

import "strings"

// deviceNames are the devices that a list of sessions names, and what their browsers call them. The first that fits counts: an iPad also
// says Mac, and Android also says Linux.
var deviceNames = []struct{ said, name string }{
	{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Macintosh", "Mac"}, {"Linux", "Linux"},
}

// DeviceOf returns what a browser's device is, or "". Nothing else of the User-Agent is kept.
func DeviceOf(userAgent string) string {
	for _, d := range deviceNames {
		if strings.Contains(userAgent, d.said) {
			return d.name
		}
	}
	return ""
}
