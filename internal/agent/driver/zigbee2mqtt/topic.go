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

const maxTopic = 512 // maximum length in bytes of the base topic or of a friendly name

// ieeeAddress matches a device's Zigbee address as Zigbee2MQTT writes it. It is the only name of a device that never changes.
var ieeeAddress = regexp.MustCompile(`^0x[0-9a-f]{16}$`)

// topics builds the MQTT topics of one Zigbee2MQTT below its base topic.
//
// Commands use the device's address, although Zigbee2MQTT also accepts its friendly name. So a renamed device gets no command for another
// one, and no friendly name can imitate another device's topic.
type topics string

// bridge returns the topic on which Zigbee2MQTT publishes about itself, such as its state or devices.
func (p topics) bridge(what string) string { return string(p) + "/bridge/" + what }

// state returns the topic of the state messages of the device with a friendly name.
func (p topics) state(name string) string { return string(p) + "/" + name }

// availability returns the topic on which Zigbee2MQTT publishes whether the device with a friendly name is reachable.
func (p topics) availability(name string) string { return string(p) + "/" + name + "/availability" }

// command returns the topic for a command to the device with a Zigbee address. verb is "get" or "set".
func (p topics) command(address, verb string) string { return string(p) + "/" + address + "/" + verb }

// bridgeTopic returns the part of a topic below base/bridge/, such as state or devices. ok is false for other topics.
func (p topics) bridgeTopic(topic string) (what string, ok bool) {
	return strings.CutPrefix(topic, string(p)+"/bridge/")
}

// checkBase checks that a base topic is a single topic without wildcards.
func checkBase(base string) error {
	if err := checkTopic(base); err != nil {
		return fmt.Errorf("base topic %q: %w", base, err)
	}
	if base[0] == '$' {
		return fmt.Errorf("base topic %q: topics with a leading $ belong to the broker", base)
	}
	return nil
}

// checkName refuses friendly names whose topics would contain wildcards or belong to another device.
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

// checkTopic checks that a text is a valid topic without wildcards. Its errors continue a sentence that begins with the topic.
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
