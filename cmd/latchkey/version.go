package main

import (
	"runtime/debug"
	"strings"
)

var version = buildVersion(debug.ReadBuildInfo())

// buildVersion returns the version to show: that of the module, otherwise the revision and its time, otherwise dev. ok is whether the
// program has build information.
func buildVersion(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return "dev"
	}
	parts := []string{revision[:min(len(revision), 12)]}
	if at := settings["vcs.time"]; at != "" {
		parts = append(parts, at)
	}
	if settings["vcs.modified"] == "true" {
		parts = append(parts, "modified")
	}
	return strings.Join(parts, " ")
}
