package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type mailCommands struct {
	remote `embed:""`

	List     mailList     `cmd:"" help:"List mails to guests and staff, newest first."`
	Show     mailShow     `cmd:"" help:"Show a mail, and its text if it is in the mailbox."`
	Resend   mailResend   `cmd:"" help:"Send a mail again, with a new link."`
	Bounce   mailBounce   `cmd:"" help:"Report that a mail came back: read the report of a mail server from standard input."`
	Settings mailSettings `cmd:"" help:"Show or change the mail server and the sender."`
	Test     mailTest     `cmd:"" help:"Send a test mail now."`
	Invite   mailInvite   `cmd:"" help:"Show how many guests would be invited, or switch the invitations of an integration on or off."`
}

type mailList struct {
	Reservation string `placeholder:"RESERVATION" help:"Only mails about this reservation, by its number or id, or the booker's name."`
	State       string `enum:",waiting,sent,mailbox,failed,bounced" default:"" help:"Only waiting, sent, mailbox, failed or bounced mails."`
	Limit       int32  `default:"50" help:"At most this many, up to 200."`
}

// Help returns examples for --help.
func (mailList) Help() string {
	return `Examples:
  latchkey mail list
  latchkey mail list --state bounced`
}

// Run prints the newest mails that the flags select, at most --limit.
func (c *mailList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		ask := &propertyv1.ListMailsRequest{State: c.State, PageSize: c.Limit}
		if c.Reservation != "" {
			x, err := s.findReservation(c.Reservation)
			if err != nil {
				return err
			}
			ask.ReservationId = x.GetId()
		}
		answer, err := propertyv1.NewMailServiceClient(s.conn).ListMails(s, ask)
		return s.printAnswer(answer, err, func() {
			var rows [][]string
			for _, m := range answer.GetData().GetList() {
				rows = append(rows, []string{m.GetId(), formatTime(m.GetCreatedAt()), m.GetKind(), m.GetMaskedTo(), m.GetState(), problemOf(m)})
			}
			s.printTable("No mails.", []string{"id", "ordered", "kind", "to", "state", "problem"}, rows)
		})
	})
}

// problemOf returns why a mail was not delivered, with the answer of the mail server, or "".
func problemOf(m *propertyv1.Mail) string {
	return strings.TrimSpace(m.GetFailure() + " " + m.GetAnswer())
}

type mailShow struct {
	ID string `arg:"" name:"mail" help:"The id of a mail (mai_...)."`
}

func (mailShow) Help() string {
	return `Example:
  latchkey mail show mai_01JD3Q`
}

// Run prints a mail, with its text if it is in the mailbox.
func (c *mailShow) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewMailServiceClient(s.conn).GetMail(s, &propertyv1.GetMailRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() {
			m := answer.GetData()
			s.printFacts("mail", m.GetKind(), "to", m.GetMaskedTo(), "state", m.GetState(), "ordered", formatTime(m.GetCreatedAt()), "sent", formatTime(m.GetSentAt()),
				"problem", m.GetFailureText(), "answer of the mail server", m.GetAnswer())
			if t := answer.GetText(); t != nil {
				s.say("\nTo: %s\nSubject: %s\n\n%s", t.GetTo(), t.GetSubject(), t.GetText())
			}
		})
	})
}

type mailResend struct {
	ID string `arg:"" name:"mail" help:"The id of a mail (mai_...)."`
}

func (mailResend) Help() string {
	return `Example:
  latchkey mail resend mai_01JD3Q`
}

// Run orders a mail again, except an invitation of staff. The new mail has a new link and an id of its own, which Run prints. If the last
// mail of that kind to that guest is still on its way, nothing is ordered, and Run prints the id of that mail; otherwise its link ends,
// unless a device has opened it.
func (c *mailResend) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewMailServiceClient(s.conn).ResendMail(s, &propertyv1.ResendMailRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.say("Ordered %s.", answer.GetData().GetId()) })
	})
}

type mailBounce struct{}

// Help returns what --help adds: which mails change something, and an example.
func (mailBounce) Help() string {
	return `A mail server passes on what arrives at the sender's address. Mails that are not such reports change nothing.

Example:
  latchkey mail bounce < report.eml`
}

// maxBounce is how many bytes of a bounce report are read. The API accepts no more.
const maxBounce = 512 << 10

// Run sends the server a bounce report from standard input: a mail that says that another mail was not delivered. The server marks that
// other mail as failed or bounced and notifies staff. A mail that is no such report changes nothing and is no error. A report is cut at
// maxBounce bytes: the parts that the server needs, the report itself and the header of the returned mail, come first.
func (*mailBounce) Run(ctx context.Context, r *remote, in *streams) error {
	raw, err := io.ReadAll(io.LimitReader(in.in, maxBounce))
	if err != nil {
		return fmt.Errorf("read the report from standard input: %w", err)
	}
	return r.asStaff(ctx, in, func(s *session) error {
		answer, err := propertyv1.NewMailServiceClient(s.conn).ReportBounce(s, &propertyv1.ReportBounceRequest{Message: raw})
		return s.printAnswer(answer, err, func() {
			m := answer.GetData().GetMail()
			if m == nil {
				s.say("Nothing changed: no mail of the property is reported as not delivered.")
				return
			}
			s.printFacts("mail", m.GetKind(), "id", m.GetId(), "to", m.GetMaskedTo(), "state", m.GetState(), "problem", m.GetFailureText(), "answer of the mail server", m.GetAnswer())
		})
	})
}

type mailSettings struct {
	Host          *string `help:"Mail server; empty: mails go to the mailbox."`
	Port          *int32  `help:"Its port: 587 for starttls, 465 for tls."`
	Security      *string `help:"starttls, tls or none. none is only for a server on this machine."`
	User          *string `help:"User name."`
	PasswordStdin bool    `help:"Read the password from standard input."`
	From          *string `placeholder:"ADDRESS" help:"Address of the sender."`
	FromName      *string `placeholder:"NAME" help:"Name of the sender. Empty: the property's."`
	ReplyTo       *string `placeholder:"ADDRESS" help:"Address for answers. Empty: that of the sender."`
}

func (mailSettings) Help() string {
	return `Example:
  latchkey mail settings --host smtp.example.com --user desk --from desk@example.com --password-stdin < password.txt`
}

// Run changes the mail settings that the flags give. Without flags it prints them. With --password-stdin it reads the password, one line.
func (c *mailSettings) Run(ctx context.Context, r *remote, io *streams) error {
	change := &propertyv1.MailSettingsChange{
		Host: c.Host, Port: c.Port, Security: c.Security, User: c.User, FromAddress: c.From, FromName: c.FromName, ReplyTo: c.ReplyTo,
	}
	if c.PasswordStdin {
		line, err := bufio.NewReader(io.in).ReadString('\n')
		if line == "" && err != nil {
			return fmt.Errorf("read the password from standard input: %w", err)
		}
		line = strings.TrimRight(line, "\r\n")
		change.Password = &line
	}
	return r.asStaff(ctx, io, func(s *session) error {
		client := propertyv1.NewMailServiceClient(s.conn)
		if *c == (mailSettings{}) {
			answer, err := client.GetMailSettings(s, &propertyv1.GetMailSettingsRequest{})
			return s.printAnswer(answer, err, func() { s.printMailSettings(answer.GetData()) })
		}
		answer, err := client.UpdateMailSettings(s, &propertyv1.UpdateMailSettingsRequest{Settings: change})
		return s.printAnswer(answer, err, func() {
			s.printMailSettings(answer.GetData())
			if answer.GetData().GetHost() != "" {
				s.printNextSteps("latchkey mail test ADDRESS")
			}
		})
	})
}

// printMailSettings prints the mail server and the sender of a property, without the password.
func (s *session) printMailSettings(m *propertyv1.MailSettings) {
	if m.GetHost() == "" {
		s.say("There is no mail server. Mails go to the mailbox, and no guest gets them: latchkey mail list")
		s.printUnsent(m)
		return
	}
	s.printFacts("mail server", fmt.Sprintf("%s:%d", m.GetHost(), m.GetPort()), "security", m.GetSecurity(), "user", m.GetUser(), "password stored", yesOrNo(m.GetHasPassword()),
		"sender", strings.TrimSpace(m.GetFromName()+" <"+m.GetFromAddress()+">"), "answers to", m.GetReplyTo())
	s.printUnsent(m)
}

// printUnsent prints how many mails were only put into the mailbox, because there was no mail server. It prints nothing if there are none.
func (s *session) printUnsent(m *propertyv1.MailSettings) {
	if n := m.GetUnsent(); n > 0 {
		s.say("Mails in the mailbox that were not sent: %d. List them: latchkey mail list --state mailbox", n)
	}
}

type mailTest struct {
	To string `arg:"" name:"address" help:"The recipient."`
}

func (mailTest) Help() string {
	return `Example:
  latchkey mail test you@example.com`
}

// Run sends a test mail. It fails if the mail server does not take it, or if none is set.
func (c *mailTest) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewMailServiceClient(s.conn).SendTestMail(s, &propertyv1.SendTestMailRequest{To: c.To})
		if err := s.printAnswer(answer, err, func() {
			if answer.GetData().GetOk() {
				s.say("The mail server took the mail.")
			}
		}); err != nil || answer.GetData().GetOk() {
			return err
		}
		problem := answer.GetData()
		if problem.GetAnswer() == "" {
			return fmt.Errorf("the mail was not sent. %s", problem.GetText())
		}
		return fmt.Errorf("the mail was not sent. %s The answer was: %s", problem.GetText(), problem.GetAnswer())
	})
}

type mailInvite struct {
	ID  string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	On  bool   `xor:"switch" help:"Switch the invitations on. Those that are due now are sent at once."`
	Off bool   `xor:"switch" help:"Switch the invitations off."`
}

// Help returns examples for --help.
func (mailInvite) Help() string {
	return `Examples:
  latchkey mail invite INTEGRATION
  latchkey mail invite INTEGRATION --on`
}

// Run switches the mails that invite guests of an integration to check in on or off. After --on, the server orders those that are due soon
// after the call, in its periodic work. Without a flag Run prints how many would be sent, and changes nothing.
func (c *mailInvite) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		client := propertyv1.NewMailServiceClient(s.conn)
		if !c.On && !c.Off {
			answer, err := client.PreviewInvitations(s, &propertyv1.PreviewInvitationsRequest{IntegrationId: c.ID})
			return s.printAnswer(answer, err, func() { s.printInvitations(answer.GetData()) })
		}
		answer, err := client.SetInvitations(s, &propertyv1.SetInvitationsRequest{IntegrationId: c.ID, Enabled: c.On})
		return s.printAnswer(answer, err, func() { s.printInvitations(answer.GetData()) })
	})
}

// printInvitations prints whether an integration mails its guests an invitation to check in, and how many mails are due.
func (s *session) printInvitations(v *propertyv1.Invitations) {
	s.say("Invitations are %s. Mails due now: %d, later: %d. Stays without an address that reaches the guest: %d.",
		map[bool]string{true: "on", false: "off"}[v.GetEnabled()], v.GetDueNow(), v.GetDueLater(), v.GetWithoutAddress())
}
