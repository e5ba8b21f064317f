package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type propertyCommands struct {
	remote `embed:""`

	Create propertyCreate `cmd:"" help:"Create a property."`
	List   propertyList   `cmd:"" help:"List the properties of this installation."`
	Show   propertyShow   `cmd:"" help:"Show the settings of a property."`
	Set    propertySet    `cmd:"" help:"Change settings. Current stays follow at once."`
	Delete propertyDelete `cmd:"" help:"Delete a property with everything that belongs to it, for good."`
}

// settings are the flags that property create and property set share.
type settings struct {
	CheckIn        *string `placeholder:"HH:MM" help:"Check-in time of stays without a time. Default 15:00."`
	CheckOut       *string `placeholder:"HH:MM" help:"Check-out time of stays without a time. Default 11:00."`
	EarlyIn        *int32  `placeholder:"MINUTES" help:"How much earlier codes open. Default 0."`
	LateOut        *int32  `placeholder:"MINUTES" help:"How much later codes still open. Default 0."`
	PINLength      *int32  `name:"pin-length" placeholder:"DIGITS" help:"6 to 8, or 0: 8 for doors whose lock does not slow the guessing of PINs, 6 for others. Default 0."`
	GatesAlone     *bool   `negatable:"" help:"If a stay's own door has no lock, it still gets codes for the gates."`
	BackupCodes    *bool   `negatable:"" help:"Keep two backup codes on each lock of a door, which work without server and bridge."`
	AccessStepUp   *bool   `negatable:"" help:"Before staff open doors, or change or show access, they prove again who they are if they did not in the last 15 minutes. Default yes."`
	Owing          *string `placeholder:"POLICY" help:"Self check-in of a guest who owes money: block (default), allow or threshold."`
	OwingThreshold *int32  `placeholder:"MINOR" help:"With --owing threshold: the largest amount that does not block, in the currency's minor unit."`
}

// toMessage returns the flags as settings of a request, with a name and a time zone. The server does not change what is nil.
func (c settings) toMessage(name, zone *string) *propertyv1.PropertySettings {
	return &propertyv1.PropertySettings{
		Name: name, TimeZone: zone, CheckInTime: c.CheckIn, CheckOutTime: c.CheckOut, EarlyInMinutes: c.EarlyIn, LateOutMinutes: c.LateOut,
		PinLength: c.PINLength, GatesAlone: c.GatesAlone, BackupCodes: c.BackupCodes, AccessStepUp: c.AccessStepUp, OwingPolicy: c.Owing, OwingThresholdMinor: c.OwingThreshold,
	}
}

type propertyCreate struct {
	Name     string `arg:"" help:"The property's name."`
	TimeZone string `required:"" placeholder:"ZONE" help:"IANA name, such as Europe/Lisbon."`
	settings `embed:""`
}

func (propertyCreate) Help() string {
	return `Example:
  latchkey property create "Hostel Miramar" --time-zone Europe/Lisbon --late-out 30`
}

// Run creates a property, and prints its id and the next steps. It is for operators only.
func (c *propertyCreate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		answer, err := adminv1.NewPropertyServiceClient(s.conn).CreateProperty(s, &adminv1.CreatePropertyRequest{Settings: c.toMessage(&c.Name, &c.TimeZone)})
		return s.printAnswer(answer, hintZone(err, &c.TimeZone), func() {
			p := answer.GetData()
			s.say("Created %s: %s, %s.", p.GetId(), p.GetName(), p.GetTimeZone())
			s.sayNamesakes(aProperty, p.GetId(), p.GetName())
			s.printNextSteps(
				`latchkey space create 101 --type Room     or many at once: latchkey space import FILE`,
				`latchkey bridge create Reception          the program on site that drives the locks`,
				`latchkey app create "Your PMS"            the vendor, if "latchkey app list" does not show it`,
				`latchkey integration connect APP          the vendor's access token for this property`,
				`With more than one property, add --property `+p.GetId()+` to each.`,
			)
		})
	})
}

type propertyList struct {
	State bool `help:"Show what is connected to each property instead of its settings: the PMS apps, the bridges and how many of them are online."`
}

func (propertyList) Help() string {
	return `Example:
  latchkey property list --state`
}

// Run lists all properties with their settings or, with --state, with their PMS apps and bridges. It is for operators only.
func (c *propertyList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		if c.State {
			return s.printPropertyStates()
		}
		all, err := s.allProperties()
		if err != nil {
			return err
		}
		return s.printAnswer(&adminv1.ListPropertiesResponse{Data: &adminv1.PropertyList{List: all}}, nil, func() {
			var rows [][]string
			for _, p := range all {
				rows = append(rows, []string{p.GetId(), p.GetName(), p.GetTimeZone(), p.GetCheckInTime(), p.GetCheckOutTime(), formatTime(p.GetCreatedAt())})
			}
			s.printTable(noProperty, []string{"id", "name", "time zone", "in", "out", "created"}, rows)
		})
	})
}

// noProperty is what lists of properties print if there is none.
const noProperty = `There is no property yet. Create one with: latchkey property create "Hostel Miramar" --time-zone Europe/Lisbon`

// printPropertyStates prints all properties of the installation with their PMS apps and bridges.
func (s *session) printPropertyStates() error {
	all, err := allPages(func(token string) (*adminv1.PropertyStateList, error) {
		answer, err := adminv1.NewInstallationServiceClient(s.conn).ListPropertyStates(s, &adminv1.ListPropertyStatesRequest{PageSize: 1000, PageToken: token})
		return answer.GetData(), err
	})
	if err != nil {
		return err
	}
	return s.printAnswer(&adminv1.ListPropertyStatesResponse{Data: &adminv1.PropertyStateList{List: all}}, nil, func() {
		var rows [][]string
		for _, p := range all {
			rows = append(rows, []string{
				p.GetProperty().GetId(), p.GetProperty().GetName(), dash(strings.Join(p.GetApps(), ", ")), strconv.Itoa(int(p.GetBridges())), strconv.Itoa(int(p.GetBridgesOnline())),
			})
		}
		s.printTable(noProperty, []string{"id", "name", "PMS", "bridges", "online"}, rows)
	})
}

// allProperties loads all properties of the installation, which needs an operator's rights.
func (s *session) allProperties() ([]*propertyv1.Property, error) {
	return allPages(func(token string) (*adminv1.PropertyList, error) {
		answer, err := adminv1.NewPropertyServiceClient(s.conn).ListProperties(s, &adminv1.ListPropertiesRequest{PageSize: 1000, PageToken: token})
		return answer.GetData(), err
	})
}

type propertyShow struct {
	Word string `arg:"" optional:"" name:"property" help:"The property, by name or id, as with --property."`
}

// Run prints the settings of the property.
func (c *propertyShow) Run(ctx context.Context, r *remote, io *streams) error {
	if err := r.nameProperty(c.Word); err != nil {
		return err
	}
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewPropertyServiceClient(s.conn).GetProperty(s, &propertyv1.GetPropertyRequest{})
		return s.printAnswer(answer, err, func() { s.printProperty(answer.GetData()) })
	})
}

type propertySet struct {
	Name     *string `help:"The property's name."`
	TimeZone *string `placeholder:"ZONE" help:"IANA name, such as Europe/Lisbon."`
	settings `embed:""`
}

func (propertySet) Help() string {
	return `Example:
  latchkey property set --late-out 60 --check-out 10:00`
}

// Run changes the settings that the flags give, also for current stays. It fails without a flag.
func (c *propertySet) Run(ctx context.Context, r *remote, io *streams) error {
	if *c == (propertySet{}) {
		return errNothing
	}
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewPropertyServiceClient(s.conn).UpdateProperty(s, &propertyv1.UpdatePropertyRequest{Settings: c.toMessage(c.Name, c.TimeZone)})
		return s.printAnswer(answer, hintZone(err, c.TimeZone), func() { s.printProperty(answer.GetData()) })
	})
}

type propertyDelete struct {
	Word         string   `arg:"" optional:"" name:"property" help:"The property, by name or id, as with --property."`
	Confirm      string   `placeholder:"NAME" help:"The name of the property, for scripts. Left out: the command asks for it."`
	AbandonLocks []string `placeholder:"ID" help:"Locks that are gone for good, from the list in the server's refusal. They may open to old codes for ever."`
}

// Help returns what --help adds: what is deleted, when the server refuses it, and an example.
func (propertyDelete) Help() string {
	return `Deletes stays, guests, locks, bridges, credentials, history and keys of the property. This cannot be undone, and only a backup
still has them. The server refuses while a lock may still hold a code, or a phone a SmartKey: end the stays and revoke the codes before. The refusal
lists the locks. If a lock is gone for good, add --abandon-locks. If the command is interrupted, run it again with the same flags.

Example:
  latchkey property delete "Hostel Miramar"`
}

// Run deletes a property after the user has typed its name or named it with --confirm. It repeats the call until everything is deleted; the
// first call already makes the tokens of the property invalid and revokes its bridges. The server refuses while a lock, except those of
// --abandon-locks, may hold a code, or a phone a SmartKey.
func (c *propertyDelete) Run(ctx context.Context, r *remote, io *streams) error {
	if err := r.nameProperty(c.Word); err != nil {
		return err
	}
	for done := false; !done; { // each call has its own deadline and deletes a part
		err := r.asOperator(ctx, io, func(s *session) (err error) {
			if r.Property, err = s.resolveProperty(); err != nil {
				return err
			}
			if c.Confirm == "" {
				fmt.Fprintf(io.errs, "This deletes %s with everything that belongs to it, for good.\nType the name of the property: ", r.Property)
				line, _ := bufio.NewReader(io.in).ReadString('\n')
				if c.Confirm = strings.TrimSpace(line); c.Confirm == "" {
					return errors.New("nothing was deleted: type the name of the property, or add --confirm NAME")
				}
			}
			answer, err := adminv1.NewPropertyServiceClient(s.conn).DeleteProperty(s, &adminv1.DeletePropertyRequest{
				Id: r.Property, Name: c.Confirm, AbandonedLockIds: c.AbandonLocks,
			})
			if done = answer.GetData().GetDone(); !done {
				return err
			}
			return s.printAnswer(answer, err, func() { s.say("Deleted %s.", r.Property) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// printProperty prints a property with its settings.
func (s *session) printProperty(p *propertyv1.Property) {
	owing := p.GetOwingPolicy()
	if owing == "threshold" {
		owing += " " + strconv.Itoa(int(p.GetOwingThresholdMinor()))
	}
	s.printFacts("id", p.GetId(), "name", p.GetName(), "time zone", p.GetTimeZone(), "check-in", p.GetCheckInTime(), "check-out", p.GetCheckOutTime(),
		"early in", fmt.Sprintf("%d min", p.GetEarlyInMinutes()), "late out", fmt.Sprintf("%d min", p.GetLateOutMinutes()),
		"PIN", pinText(p.GetPinLength()), "gates alone", yesOrNo(p.GetGatesAlone()), "backup codes", yesOrNo(p.GetBackupCodes()), "step-up for doors and PINs", yesOrNo(p.GetAccessStepUp()), "owing", owing, "created", formatTime(p.GetCreatedAt()))
}

// pinText describes the setting of the length of PINs: 0 lets the server choose for each door.
func pinText(digits int32) string {
	if digits == 0 {
		return "automatic (6 or 8 digits)"
	}
	return fmt.Sprintf("%d digits", digits)
}
