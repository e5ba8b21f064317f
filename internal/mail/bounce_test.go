package mail

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"latchkey.dev/internal/id"
)

// report returns a report of a mail server. status has the fields of the recipient, and original the header of the returned mail.
func report(status, original string) string {
	return strings.ReplaceAll(fmt.Sprintf(`From: MAILER-DAEMON@mx.example (Mail Delivery System)
To: stay@hotel.example
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b.1/x"

This is a MIME-encapsulated message.

--b.1/x
Content-Type: text/plain; charset=us-ascii

The mail could not be delivered.

--b.1/x
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example
Arrival-Date: Fri, 27 Nov 2026 10:00:00 +0000

%s

--b.1/x
Content-Type: text/rfc822-headers

%s

--b.1/x--
`, status, original), "\n", "\r\n")
}

func TestReadBounce(t *testing.T) {
	mailID := id.New(id.Mail)
	original := "From: Hotel <stay@hotel.example>\nSubject: Your stay\nMessage-ID: <" + mailID + "@hotel.example>"
	unknown := "Final-Recipient: rfc822; ana@example.com\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 <ana@example.com>: user unknown"
	encoded := strings.Replace(report(unknown, original), "message/delivery-status\r\n\r\n", "message/delivery-status\r\nContent-Transfer-Encoding: base64\r\n\r\n"+
		base64.StdEncoding.EncodeToString([]byte("Reporting-MTA: dns; mx.example\r\n\r\n"+strings.ReplaceAll(unknown, "\n", "\r\n")+"\r\n"))+"\r\n\r\n--b.1/x\r\nContent-Type: text/plain\r\n\r\n", 1)
	for name, c := range map[string]struct {
		raw  string
		want Bounce
		no   bool
	}{
		"unknown address":                  {raw: report(unknown, original), want: Bounce{mailID, FailedRecipient, "5.1.1 550 5.1.1 <…>: user unknown"}},
		"lines end with LF":                {raw: strings.ReplaceAll(report(unknown, original), "\r\n", "\n"), want: Bounce{mailID, FailedRecipient, "5.1.1 550 5.1.1 <…>: user unknown"}},
		"in base64":                        {raw: encoded, want: Bounce{mailID, FailedRecipient, "5.1.1 550 5.1.1 <…>: user unknown"}},
		"closed mailbox":                   {raw: report("Action: failed\nStatus: 5.2.1 (mailbox disabled)", original), want: Bounce{mailID, FailedRecipient, "5.2.1"}},
		"no mail server":                   {raw: report("Action: failed\nStatus: 5.1.10\nDiagnostic-Code: smtp;556 null MX", original), want: Bounce{mailID, FailedRecipient, "5.1.10 556 null MX"}},
		"full mailbox":                     {raw: report("Action: Failed (permanent)\nStatus: 5.2.2\nDiagnostic-Code: over quota", original), want: Bounce{mailID, FailedReturned, "5.2.2 over quota"}},
		"refused as spam":                  {raw: report("Action: failed\nStatus: 5.7.1", original), want: Bounce{mailID, FailedReturned, "5.7.1"}},
		"another status that begins alike": {raw: report("Action: failed\nStatus: 5.1.15", original), want: Bounce{mailID, FailedReturned, "5.1.15"}},
		"tried for days":                   {raw: report("Action: failed\nStatus: 4.4.1", original), want: Bounce{mailID, FailedReturned, "4.4.1"}},
		"no status":                        {raw: report("Action: failed", original), want: Bounce{MailID: mailID, Failure: FailedReturned}},
		"the whole mail":                   {raw: strings.Replace(report(unknown, original), "text/rfc822-headers", "message/rfc822", 1), want: Bounce{mailID, FailedRecipient, "5.1.1 550 5.1.1 <…>: user unknown"}},
		"internationalized": {raw: strings.NewReplacer("text/rfc822-headers", "message/global-headers", "message/delivery-status", "message/global-delivery-status").Replace(report(unknown, original)),
			want: Bounce{mailID, FailedRecipient, "5.1.1 550 5.1.1 <…>: user unknown"}},
		"without the header, but as an answer": {raw: "In-Reply-To: <" + mailID + "@hotel.example>\r\n" + report("Action: failed\nStatus: 5.1.1", "Subject: Your stay"), want: Bounce{mailID, FailedRecipient, "5.1.1"}},
		"cut after the header":                 {raw: strings.TrimSuffix(report(unknown, original), "\r\n\r\n--b.1/x--\r\n"), want: Bounce{mailID, FailedRecipient, "5.1.1 550 5.1.1 <…>: user unknown"}},

		"a line that is no field":             {raw: strings.Replace(report(unknown, original), "Arrival-Date", "what is this\r\nArrival-Date", 1), want: Bounce{mailID, FailedRecipient, "5.1.1 550 5.1.1 <…>: user unknown"}},
		"too many lines before the recipient": {raw: strings.Replace(report(unknown, original), "Arrival-Date", strings.Repeat("x\r\n", maxStatusGroups)+"Arrival-Date", 1), no: true},
		"a delay":                             {raw: report("Action: delayed\nStatus: 4.4.1", original), no: true},
		"a delivery":                          {raw: report("Action: delivered\nStatus: 2.0.0", original), no: true},
		"a mail of another sender":            {raw: report(unknown, "Message-ID: <abc@hotel.example>"), no: true},
		"a mail of another sender that refers to this service's": {raw: "References: <" + mailID + "@hotel.example>\r\n" + report(unknown, "Message-ID: <abc@hotel.example>"), no: true},
		"an id that is no mail's":                                {raw: report(unknown, "Message-ID: <"+id.New(id.Reservation)+"@hotel.example>"), no: true},
		"a receipt":                                              {raw: strings.Replace(report(unknown, original), "report-type=delivery-status", "report-type=disposition-notification", 1), no: true},
		"a guest's answer":                                       {raw: "From: ana@example.com\r\nIn-Reply-To: <" + mailID + "@hotel.example>\r\nContent-Type: text/plain\r\n\r\nAction: failed\r\nStatus: 5.1.1\r\n", no: true},
		"no mail":                                                {raw: "hello", no: true},
		"nothing":                                                {raw: "", no: true},
		"no boundary":                                            {raw: "Content-Type: multipart/report; report-type=delivery-status\r\n\r\nx", no: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := ReadBounce([]byte(c.raw))
			if ok == c.no || ok && got != c.want {
				t.Errorf("got %+v, %v; want %+v", got, ok, c.want)
			}
		})
	}
}

func TestCleanAnswer(t *testing.T) {
	for raw, want := range map[string]string{
		"550 5.1.1 <ana@example.com>: user unknown":      "550 5.1.1 <…>: user unknown",
		`550 "ana silva"@example.com is unknown`:         "550 … is unknown",
		`550 "ana \"x\" silva"@example.com`:              "550 …",
		"550 ana@[10.0.0.1] refused":                     "550 … refused",
		"550 ana.silva=40example.com, ana%40example.com": "550 …, …",
		"550 =?utf-8?q?ana=2Esilva=40example.com?= no":   "550 … no",
		"550 ana＠example.com":                            "550 …",
		"552 5.3.4 size=4096.5 exceeds the limit=4000":   "552 5.3.4 size=4096.5 exceeds the limit=4000",
		"451 4.7.1 try again in 300 s (see policy #7)":   "451 4.7.1 try again in 300 s (see policy #7)",
		strings.Repeat("ä", 400):                         strings.Repeat("ä", maxAnswer),
	} {
		if got := cleanAnswer(raw); got != want {
			t.Errorf("%s: %q, not %q", raw, got, want)
		}
	}
}

func TestMayBounce(t *testing.T) {
	to := []byte("sealed")
	for _, c := range []struct {
		row  Row
		want bool
	}{
		{Row{State: string(Sent), Address: to}, true}, {Row{State: string(Sent)}, false}, {Row{State: string(Sending), Address: to}, true}, {Row{State: string(Failed), Failure: string(FailedUnanswered), Address: to}, true},
		{Row{State: string(Failed), Failure: string(FailedRefused), Address: to}, false}, {Row{State: string(Bounced), Address: to}, false}, {Row{State: string(Waiting), Address: to}, false},
		{Row{State: string(InBox), Address: to}, false}, {Row{State: string(Canceled), Address: to}, false},
	} {
		if got := MayBounce(&c.row); got != c.want {
			t.Errorf("%s %s: %v", c.row.State, c.row.Failure, got)
		}
	}
}

func FuzzReadBounce(f *testing.F) {
	f.Add([]byte(report("Action: failed\nStatus: 5.1.1", "Message-ID: <"+id.New(id.Mail)+"@hotel.example>")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, ok := ReadBounce(raw)
		if ok && (!id.Valid(id.Mail, b.MailID) || b.Failure == "") || len([]rune(b.Answer)) > maxAnswer {
			t.Errorf("%+v, %v", b, ok)
		}
	})
}
