package zigbee2mqtt

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxTopic = 512 // bytes of base topic or friendly name

// ieeeAddress is how Zigbee2MQTT writes a device's address: the one name that nobody can change.
var ieeeAddress = regexp.MustCompile(`^0x[0-9a-f]{16}$`)

// place is the topics of one Zigbee2MQTT, below its base topic.
//
// Commands go to the device's address, never to its friendly name: Zigbee2MQTT takes both (an
// address first), a renaming cannot misdirect the one, and no name can be made that aims at another
// device's command topic.
type place string

func (p place) bridge(what string) string           { return string(p) + "/bridge/" + what }
func (p place) state(name string) string            { return string(p) + "/" + name }
func (p place) availability(name string) string     { return string(p) + "/" + name + "/availability" }
func (p place) command(address, verb string) string { return string(p) + "/" + address + "/" + verb }
func (p place) under(topic string) (what string, ok bool) {
	return strings.CutPrefix(topic, string(p)+"/bridge/")
}

// checkBase refuses a base topic that is not one topic of one or more levels.
func checkBase(base string) error {
	if err := checkTopic(base); err != nil {
		return fmt.Errorf("base topic %q: %w", base, err)
	}
	if base[0] == '$' {
		return fmt.Errorf("base topic %q: topics with a leading $ belong to the broker", base)
	}
	return nil
}

// checkName refuses friendly names whose topics would be wildcards, or another's.
func checkName(name string) error {
	if err := checkTopic(name); err != nil {
		return err
	}
	levels := strings.Split(name, "/")
	switch {
	case levels[0] == "bridge":
		return errors.New("its first level is bridge, which is Zigbee2MQTT's own")
	case slices.Contains(levels, "set"), slices.Contains(levels, "get"):
		return errors.New("a level of it is set or get: its topics would be another device's commands")
	case levels[len(levels)-1] == "availability":
		return errors.New("it ends with availability: its topic would be another device's")
	}
	return nil
}

func checkTopic(topic string) error {
	switch {
	case topic == "":
		return errors.New("is empty")
	case len(topic) > maxTopic:
		return fmt.Errorf("is longer than %d bytes", maxTopic)
	case !utf8.ValidString(topic):
		return errors.New("is not UTF-8")
	case strings.ContainsAny(topic, "+#"):
		return errors.New("holds + or #, which are wildcards")
	case strings.ContainsFunc(topic, unicode.IsControl):
		return errors.New("holds a control character")
	case slices.Contains(strings.Split(topic, "/"), ""):
		return errors.New("begins or ends with a slash, or has two in a row")
	}
	return nil
}
