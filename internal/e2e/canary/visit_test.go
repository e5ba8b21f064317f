package canary

import (
	"context"
	"errors"
	"regexp"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// What people type while a party checks in by mail and at a tablet.
const (
	booker    = "Bucherkanaria"
	companion = "Begleitkanaria"
	invited   = "begleit.kanaria@example.org"
	mistyped  = "Tippkanaria"
	own       = "Selbstkanaria" // what the companion answers on a phone of their own
	written   = "Briefkanaria: is there a bath?"
	kept      = "Profilkanaria"             // what the property keeps for the next stay
	stranger  = "fremd.kanaria@example.net" // an address without a profile
)

var mailedLink = regexp.MustCompile(`/g/l/([A-Za-z0-9_-]+)`)

// visit is a party that comes by the link of a mail, invites a companion, is stopped by its PMS, mistypes at a tablet, and takes the
// stay from the tablet to a phone.
func (f *flows) visit() {
	f.t.Helper()
	f.learn("the name of a companion", companion)
	f.learn("the address of a companion", invited)
	f.learn("a name mistyped at a tablet", mistyped)
	f.learn("an address without a profile", stranger)
	ctx := f.t.Context()
	booking := guest()
	booking["state"], booking["pmsNumber"], booking["roomId"], booking["adultCount"] = "confirmed", "N-VISIT", "R102", 2
	booking["booker"] = map[string]any{"firstName": first, "lastName": booker, "email": email}
	if _, err := propertyv1.NewMailServiceClient(f.Public).SetInvitations(f.Staff(ctx), &propertyv1.SetInvitationsRequest{IntegrationId: f.IntegrationID, Enabled: true}); err != nil {
		f.t.Fatal(err)
	}
	f.PMS.SetConduct("K10", sandbox.Fails)
	if a, err := f.PMS.Push(ctx, "K10", booking); err != nil || a.Status != 200 {
		f.t.Fatal(a, err)
	}
	link := f.mailedLink("invitation")
	bound := f.must(e2etest.Anonymous(), "POST", "/v1/guest/link:bind", map[string]any{"link": link, "device": "iPhone"})
	token, _ := e2etest.ValueAt(bound, "token").(string)
	f.learn("the session of a mailed link", token)
	me := e2etest.Bearer("guest", token)
	stay := f.must(me, "GET", "/v1/guest/stay", nil)
	guests, _ := stay["guests"].([]any)
	if len(guests) != 2 {
		f.t.Fatalf("the party is %v", guests)
	}
	other, _ := e2etest.ValueAt(guests[1], "id").(string)
	form := "/v1/guest/stay/guests/" + other + "/form"
	f.must(me.WithHeader("Idempotency-Key", "kanaria-companion"), "PATCH", form, map[string]any{"step": "name", "answers": map[string]any{"firstName": companion, "lastName": companion}})
	f.must(me.WithHeader("Idempotency-Key", "kanaria-invite"), "POST", "/v1/guest/stay/guests/"+other+":invite", map[string]any{"email": invited})
	f.call(me, "POST", "/v1/guest/stay/guests/"+other+":invite", map[string]any{"email": invited + "\n"})
	f.companion(f.mailedLink("companion"), form)
	first, _ := e2etest.ValueAt(guests[0], "id").(string)
	f.profile(me, "/v1/guest/stay/guests/"+first+"/form")
	f.call(e2etest.Anonymous(), "POST", "/v1/guest/link:bind", map[string]any{"link": link, "device": mistyped})

	tablet := e2etest.EnrolTablet(f.t, f.World, "Lobby")
	f.learn("the token of a tablet", tablet.Token)
	for _, wrong := range [][2]string{{"N-VISIT", mistyped}, {mistyped, booker}, {"N-VISIT", mistyped + "\x00"}} {
		if _, err := tablet.Find(ctx, wrong[0], wrong[1]); err == nil {
			f.t.Errorf("%q is found", wrong)
		} else if o, odd := e2etest.GRPCOutcome(err); odd == nil {
			f.out.failed("FindStay", o)
		}
	}
	session := tablet.GuestSession(f.t, "N-VISIT", booker)
	f.learn("a session at a tablet", session)
	f.call(e2etest.Bearer("guest", session), "POST", "/v1/guest/stay/checkIn:start", map[string]any{}) // the PMS answers with an error
	handed, err := guestv1.NewStayServiceClient(f.Public).HandOver(e2etest.AsGuest(ctx, session), &guestv1.HandOverRequest{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.learn("the link from a tablet to a phone", handed.GetLink())
	phone := f.must(e2etest.Anonymous(), "POST", "/v1/guest/link:bind", map[string]any{"link": handed.GetLink(), "device": "Android"})
	if v, _ := e2etest.ValueAt(phone, "token").(string); v != "" {
		f.learn("the session of a phone that took the stay", v)
	}
	f.call(f.Owner(), "GET", "/v1/property/notices", nil)
	f.PMS.SetConduct("K10", sandbox.Normal)
}

// companion opens the link of the mail, corrects the name, makes mistakes, and writes to the property.
func (f *flows) companion(link, form string) {
	f.t.Helper()
	f.learn("an answer of a companion", own)
	f.learn("a message of a companion", written)
	bound := f.must(e2etest.Anonymous(), "POST", "/v1/guest/link:bind", map[string]any{"link": link, "device": "Android"})
	token, _ := e2etest.ValueAt(bound, "token").(string)
	f.learn("the session of a companion", token)
	me := e2etest.Bearer("companion", token)
	f.must(me.WithHeader("Idempotency-Key", "kanaria-own"), "PATCH", form, map[string]any{"step": "name", "answers": map[string]any{"firstName": own, "lastName": own}})
	f.call(me, "PATCH", form, map[string]any{"step": "name", "answers": map[string]any{"firstName": own + "\x1b", "lastName": own}})
	f.call(me, "POST", form+":sign", map[string]any{"shown": own, "drawing": own})
	f.must(me.WithHeader("Idempotency-Key", "kanaria-letter"), "POST", "/v1/guest/messages", map[string]any{"text": written})
	f.call(me, "POST", "/v1/guest/messages", map[string]any{"text": []string{written}})
}

// mailedLink waits for the newest mail of a kind and returns the secret of its link, which it learns together with the mail's text.
func (f *flows) mailedLink(kind string) (secret string) {
	f.t.Helper()
	api := propertyv1.NewMailServiceClient(f.Public)
	f.Await("the mail "+kind, func(ctx context.Context) (bool, error) {
		list, err := api.ListMails(f.Staff(ctx), &propertyv1.ListMailsRequest{State: "mailbox"})
		if err != nil {
			return false, err
		}
		for _, m := range list.GetData().GetList() {
			if m.GetKind() != kind {
				continue
			}
			read, err := api.GetMail(f.Staff(ctx), &propertyv1.GetMailRequest{Id: m.GetId()})
			if err != nil {
				return false, err
			}
			found := mailedLink.FindStringSubmatch(read.GetText().GetText())
			if found == nil {
				return false, errors.New("the mail has no link")
			}
			secret = found[1]
			return true, nil
		}
		return false, nil
	})
	f.learn("the link of the mail "+kind, secret)
	return secret
}

// profile lets the property keep the answers of a guest for the next stay. The guest reads, and in the end deletes them, with a link that is
// mailed, and makes mistakes.
func (f *flows) profile(me e2etest.Caller, form string) {
	f.t.Helper()
	f.learn("a kept answer", kept)
	f.must(me.WithHeader("Idempotency-Key", "kanaria-kept"), "PATCH", form, map[string]any{"step": "name", "answers": map[string]any{"firstName": kept, "lastName": kept}})
	f.must(me.WithHeader("Idempotency-Key", "kanaria-keep"), "PATCH", "/v1/guest/stay/sharing", map[string]any{"keepProfile": true})
	anyone := e2etest.Anonymous()
	request := func(address string) map[string]any {
		return map[string]any{"propertyId": f.PropertyID, "email": address}
	}
	f.must(anyone, "POST", "/v1/guest/profile:link", request(email))
	f.must(anyone, "POST", "/v1/guest/profile:link", request(stranger))
	f.call(anyone, "POST", "/v1/guest/profile:link", request(stranger+"\n"))
	link := f.mailedLink("profile")
	session, _ := e2etest.ValueAt(f.must(anyone, "POST", "/v1/guest/link:bind", map[string]any{"link": link}), "token").(string)
	f.learn("the session of a link to a profile", session)
	f.call(anyone, "POST", "/v1/guest/link:bind", map[string]any{"link": link})
	owner := e2etest.Bearer("profile", session)
	if name, _ := e2etest.ValueAt(f.must(owner, "GET", "/v1/guest/profile", nil), "person.firstName").(string); name != kept {
		f.t.Errorf("the profile has the name %q", name)
	}
	f.call(owner, "GET", "/v1/guest/stay", nil)
	f.disks("files with a profile")
	f.must(owner.WithHeader("Idempotency-Key", "kanaria-delete"), "POST", "/v1/guest/profile:delete", map[string]any{})
	f.call(owner, "GET", "/v1/guest/profile", nil)
}
