package kit

import "strings"

// deviceNames maps a word in a User-Agent to the device that lists of sessions show. The first match counts: an iPad also
// contains Mac, and Android also contains Linux.
var deviceNames = []struct{ said, name string }{
	{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Macintosh", "Mac"}, {"Linux", "Linux"},
}

// DeviceOf returns the kind of device of a User-Agent, such as "iPhone", or "" if it is unknown. Sessions store only this kind, not the
// User-Agent.
func DeviceOf(userAgent string) string {
	for _, d := range deviceNames {
		if strings.Contains(userAgent, d.said) {
			return d.name
		}
	}
	return ""
}
