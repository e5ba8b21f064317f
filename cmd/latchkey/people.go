package main

import (
	"context"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

type peopleCommands struct {
	remote `embed:""`

	List     peopleList     `cmd:"" help:"List the people who work at the property, and the open invitations."`
	Invite   peopleInvite   `cmd:"" help:"Invite a person by e-mail address."`
	Resend   peopleResend   `cmd:"" help:"Replace the link of an invitation by a new one."`
	Withdraw peopleWithdraw `cmd:"" help:"End an invitation."`
	Role     peopleRole     `cmd:"" help:"Change the role of a person."`
	Disable  peopleDisable  `cmd:"" help:"End a person's access to the property for now."`
	Enable   peopleEnable   `cmd:"" help:"Give a disabled person access again."`
	Remove   peopleRemove   `cmd:"" help:"End a person's access to the property, and remove them from the list."`
}

// Kinds of objects that the people commands accept by id, name or address.
var (
	aPerson = kind{"person", []string{"prs_"}, fault.PersonNotFound, "latchkey people list", func(s *session) ([]candidate, error) {
		answer, err := propertyv1.NewPersonServiceClient(s.conn).ListPeople(s, &propertyv1.ListPeopleRequest{})
		return candidatesOf(answer.GetData().GetList(), func(m *propertyv1.Member) candidate {
			return candidate{id: m.GetId(), names: []string{m.GetEmail(), m.GetName()}, about: m.GetRole()}
		}), err
	}}
	anInvitation = kind{"invitation", []string{"pln_"}, fault.InvitationNotFound, "latchkey people list", func(s *session) ([]candidate, error) {
		answer, err := propertyv1.NewPersonServiceClient(s.conn).ListPeople(s, &propertyv1.ListPeopleRequest{})
		return candidatesOf(answer.GetData().GetInvitations(), func(i *propertyv1.PersonInvitation) candidate {
			return candidate{id: i.GetId(), names: []string{i.GetEmail()}, about: i.GetRole()}
		}), err
	}}
)

type peopleList struct{}

func (peopleList) Help() string {
	return `Example:
  latchkey people list`
}

// Run prints the people who work at the property, also disabled ones, and the open invitations.
func (*peopleList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewPersonServiceClient(s.conn).ListPeople(s, &propertyv1.ListPeopleRequest{})
		return s.printAnswer(answer, err, func() {
			var rows [][]string
			for _, m := range answer.GetData().GetList() {
				rows = append(rows, []string{m.GetId(), m.GetName(), m.GetEmail(), m.GetRole(), memberState(m), formatTime(m.GetUsedAt())})
			}
			for _, i := range answer.GetData().GetInvitations() {
				rows = append(rows, []string{i.GetId(), dash(""), i.GetEmail(), i.GetRole(), "invited until " + formatTime(i.GetEndsAt()), dash("")})
			}
			hint := "No person works here yet. Make the first owner with: latchkey admin owner-link"
			if r.Property == "" {
				hint += " PROPERTY"
			}
			s.printTable(hint, []string{"id", "name", "address", "role", "state", "last call"}, rows)
		})
	})
}

// memberState returns as text whether a person has access, and a second factor for the sign-in.
func memberState(m *propertyv1.Member) string {
	switch {
	case m.GetDisabled():
		return "disabled"
	case m.GetHasSecondFactor():
		return "active, with a second factor"
	}
	return "active"
}

type peopleInvite struct {
	Email    string `arg:"" help:"The person's e-mail address."`
	Role     string `required:"" enum:"owner,manager,frontDesk,housekeeping" help:"The person's role: owner, manager, frontDesk or housekeeping."`
	Language string `enum:",en,de,es,fr" default:"" placeholder:"LANGUAGE" help:"The language of the mail: en, de, es or fr. Left out: the property's."`
}

// Help returns what --help adds: how long the link works, and an example.
func (peopleInvite) Help() string {
	return `The link works once, within seven days. Example:
  latchkey people invite bob@example.com --role frontDesk`
}

// Run invites a person, and prints the link, which works once. The server does not mail the link if the caller has an open invitation for
// this person and role already, which stays, or if it must not: see printInvitation.
func (c *peopleInvite) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewPersonServiceClient(s.conn).InvitePerson(s, &propertyv1.InvitePersonRequest{Email: c.Email, Role: c.Role, Language: c.Language})
		return s.printAnswer(answer, err, func() { s.printInvitation(answer.GetData(), answer.GetLink(), answer.GetMailed()) })
	})
}

// printInvitation prints the link with which an invited person gets access. mailed is whether the server mails this link. If it does not,
// because there is no mail server, managers could read the link of a higher role, or nothing is new, the user must pass the link on.
func (s *session) printInvitation(i *propertyv1.PersonInvitation, link *propertyv1.InvitationLink, mailed bool) {
	s.say("Invited %s as %s: %s.", i.GetEmail(), i.GetRole(), i.GetId())
	advice := "; works once, until " + formatTime(i.GetEndsAt())
	if !mailed {
		advice += ". No new mail is sent: pass it on"
	}
	s.printSecret("link", link.GetUrl(), advice)
}

type peopleResend struct {
	ID       string `arg:"" name:"invitation" help:"The invitation's address or id (pln_...)."`
	Language string `enum:",en,de,es,fr" default:"" placeholder:"LANGUAGE" help:"The language of the mail: en, de, es or fr. Left out: the property's."`
}

// Help returns what --help adds: that the former link ends, and an example.
func (peopleResend) Help() string {
	return `The former link ends at once. Example:
  latchkey people resend bob@example.com`
}

// Run replaces the link of an invitation and prints the new one, which the server mails if it may: see printInvitation. The former link
// ends at once.
func (c *peopleResend) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anInvitation, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewPersonServiceClient(s.conn).ReinvitePerson(s, &propertyv1.ReinvitePersonRequest{Id: c.ID, Language: c.Language})
		return s.printAnswer(answer, err, func() { s.printInvitation(answer.GetData(), answer.GetLink(), answer.GetMailed()) })
	})
}

type peopleWithdraw struct {
	ID string `arg:"" name:"invitation" help:"The invitation's address or id (pln_...)."`
}

func (peopleWithdraw) Help() string {
	return `Example:
  latchkey people withdraw bob@example.com`
}

// Run ends an invitation, whose link then no longer works.
func (c *peopleWithdraw) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anInvitation, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewPersonServiceClient(s.conn).WithdrawInvitation(s, &propertyv1.WithdrawInvitationRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.say("Ended %s.", c.ID) })
	})
}

// personArgument is the argument with which a command names a person.
type personArgument struct {
	ID string `arg:"" name:"person" help:"The person's address, name or id (prs_...)."`
}

// change changes the person that the argument names, and prints the role and state after it. request has the fields to change; change sets
// its id. Open invitations that the person may no longer make end.
func (a *personArgument) change(ctx context.Context, r *remote, io *streams, request *propertyv1.UpdatePersonRequest) error {
	return r.asStaffOn(ctx, io, aPerson, &a.ID, func(s *session) error {
		request.Id = a.ID
		answer, err := propertyv1.NewPersonServiceClient(s.conn).UpdatePerson(s, request)
		return s.printAnswer(answer, err, func() {
			m := answer.GetData()
			s.say("%s (%s) is %s: %s.", m.GetName(), m.GetEmail(), m.GetRole(), memberState(m))
		})
	})
}

type peopleRole struct {
	personArgument
	Role string `arg:"" enum:"owner,manager,frontDesk,housekeeping" help:"owner, manager, frontDesk or housekeeping."`
}

func (peopleRole) Help() string {
	return `Example:
  latchkey people role bob@example.com manager`
}

// Run changes a person's role at the property. Open invitations that the person may no longer make end.
func (c *peopleRole) Run(ctx context.Context, r *remote, io *streams) error {
	return c.change(ctx, r, io, &propertyv1.UpdatePersonRequest{Role: &c.Role})
}

type peopleDisable struct{ personArgument }

// Help returns what --help adds: when calls and streams of the person end, and an example.
func (peopleDisable) Help() string {
	return `Calls are refused at once, and open streams end within 5 seconds. Example:
  latchkey people disable bob@example.com`
}

// Run ends a person's access to the property for now: calls are refused at once, and open streams end within seconds. Open invitations by
// this person end.
func (c *peopleDisable) Run(ctx context.Context, r *remote, io *streams) error {
	yes := true
	return c.change(ctx, r, io, &propertyv1.UpdatePersonRequest{Disabled: &yes})
}

type peopleEnable struct{ personArgument }

func (peopleEnable) Help() string {
	return `Example:
  latchkey people enable bob@example.com`
}

// Run gives a disabled person access to the property again, with the role from before.
func (c *peopleEnable) Run(ctx context.Context, r *remote, io *streams) error {
	no := false
	return c.change(ctx, r, io, &propertyv1.UpdatePersonRequest{Disabled: &no})
}

type peopleRemove struct{ personArgument }

// Help returns what --help adds: that the person's other properties stay, and an example.
func (peopleRemove) Help() string {
	return `The person keeps their other properties. Example:
  latchkey people remove bob@example.com`
}

// Run ends a person's access to this property, and removes the person from its list. Open invitations by this person end.
func (c *peopleRemove) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, aPerson, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewPersonServiceClient(s.conn).RemovePerson(s, &propertyv1.RemovePersonRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.say("Removed %s.", c.ID) })
	})
}
