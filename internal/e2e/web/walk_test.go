package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/e2e/program"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/browser"
	"latchkey.dev/internal/test/porttest"
	"latchkey.dev/internal/test/smtptest"
)

// walk is a new installation, with what the owner has around it: a PMS, a mail server and a bridge with virtual locks.
type walk struct {
	t                  *testing.T
	dir                string
	web, grpc, keypads string // addresses
	server             *program.Process
	api                *e2etest.API
	pms                *sandbox.PMS
	pmsURL             string
	mail               *smtptest.Server
	p                  *browser.Page // of the owner
}

// walkTime is the most time from the server's first page until the PIN opens the door. A person reads and types, too, and has ten minutes.
const walkTime = 5 * time.Minute

// An owner opens the link that the server prints at its first start, sets the property up through the pages alone, and a first guest checks
// in and opens the door with the PIN. Its pictures are those of docs/owner-guide.md.
func TestOwnerWalksFromTheStartToAnOpenDoor(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	began := time.Now()
	w.becomeOwner()
	w.addRooms()
	w.connectBridge()
	w.putLocksOnDoors()
	w.connectPMS()
	w.mapRooms()
	w.setMailServer()
	w.visit("/app/setup")
	w.p.WaitText("Everything is there. Guests can get in alone.")
	w.p.Screenshot("setup-done")
	pin := w.checkIn(w.book())
	w.opens("101", pin)
	if took := time.Since(began); took > walkTime {
		t.Errorf("the walk took %v", took)
	}
	w.showDay()
}

// newWalk starts the server, the PMS and the mail server.
func newWalk(t *testing.T) *walk {
	t.Helper()
	at := porttest.ReserveN(t, 5)
	w := &walk{t: t, dir: t.TempDir(), web: at[0], grpc: at[1], keypads: at[4], mail: smtptest.Start(t, false)}
	w.pms = sandbox.NewPMS("pms-secret", []sandbox.Space{
		{ID: "R1", Type: "Room", Name: "101", IsPrivate: true, IsActive: true}, {ID: "R2", Type: "Room", Name: "102", IsPrivate: true, IsActive: true},
		{ID: "R3", Type: "Room", Name: "Suite 201", IsPrivate: true, IsActive: true},
	})
	desk := httptest.NewServer(w.pms.Handler())
	t.Cleanup(func() {
		desk.Close()
		w.pms.Close()
	})
	w.pmsURL = desk.URL
	data := filepath.Join(w.dir, "data")
	w.server = program.New(t, "latchkey", "http://"+at[3]+"/readyz", "serve", "--data-dir", data,
		"--listen-http", at[0], "--listen-grpc", at[1], "--listen-bridge", at[2], "--listen-ops", at[3], "--drain", "10ms", "--log-level", "warn",
		"--partner-allow", hostOf(t, desk.URL), "--mail-allow", fmt.Sprintf("127.0.0.1:%d", w.mail.Port))
	w.must(w.server.Start(t.Context()))
	w.api = e2etest.Dial(t, at[0], at[1], filepath.Join(data, "operator.sock"))
	return w
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func (w *walk) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// await polls until holds returns true.
func (w *walk) await(what string, holds func() (bool, error)) {
	w.t.Helper()
	w.must(program.Await(w.t.Context(), what, holds))
}

// visit opens a page that the rail leads to.
func (w *walk) visit(path string) {
	w.t.Helper()
	w.p.Visit("http://" + w.web + path)
}

// check checks a page as every page is checked, and takes its picture.
func (w *walk) check(name string) {
	w.t.Helper()
	w.p.Axe()
	w.p.Fits()
	w.p.Screenshot(name)
}

// step opens a step of the set-up that is left.
func (w *walk) step(name string) {
	w.t.Helper()
	w.visit("/app/setup")
	w.p.Click(name + " To do")
}

var printedLink = regexp.MustCompile(`http://\S+/app/first/\S+`)

func (w *walk) becomeOwner() {
	w.p = browser.Open(w.t, browser.WithSize(browser.Size{Width: 1120, Height: 720}))
	link := printedLink.FindString(w.server.Tail())
	if link == "" {
		w.t.Fatalf("the server prints no link for an owner: %s", w.server.Tail())
	}
	w.p.Visit(link)
	w.p.Fill("Name of the property", "Hostel Miramar")
	w.p.Fill("Time zone", "Europe/Lisbon")
	w.p.Fill("Your name", "Marta Silva")
	w.p.Fill("Email", "marta@example.com")
	w.check("owner")
	w.p.Fill("Password", staffPassword)
	w.p.Next("Create my account", "Set-up")
	w.p.WaitText("6 steps are left")
	w.check("setup")
}

func (w *walk) addRooms() {
	w.step("Rooms and beds Type or paste your list.")
	w.p.Fill("Rooms, one a line", "101, 1\n102, 1")
	w.check("rooms")
	w.p.Next("Add all of them", "Rooms")
	w.p.WaitText("The rooms are there.")
}

var joinCode = regexp.MustCompile(`<code class="secret">(lkj_[^<]+)</code>`)

// connectBridge makes a join code on the page, and starts the bridge with the commands of the page and two virtual locks.
func (w *walk) connectBridge() {
	w.step("Bridge Connect the computer that drives the locks.")
	w.p.Fill("Name", "Office")
	w.p.Click("Make a join code")
	w.p.WaitText("latchkey-bridge enroll " + w.grpc + " --plaintext")
	w.check("bridge")
	code := joinCode.FindStringSubmatch(w.p.HTML())
	if code == nil {
		w.t.Fatal("the page shows no join code")
	}
	dir := filepath.Join(w.dir, "bridge")
	w.must(program.Run(w.t.Context(), []string{"LATCHKEY_JOIN_CODE=" + code[1]}, "latchkey-bridge", "--dir", dir, "enroll", w.grpc, "--plaintext"))
	bridge := program.New(w.t, "latchkey-bridge", "http://"+w.keypads+"/", "--dir", dir, "run", "--sim-locks", "101=zwave,102=zwave", "--sim-keypads", w.keypads)
	w.must(bridge.Start(w.t.Context()))
	w.p.WaitText("The bridge is connected.") // without another press: the page follows the bridge
	w.p.Next("Has it connected?", "Bridge Office")
	w.await("the bridge is connected", func() (bool, error) {
		w.p.Reload()
		return strings.Contains(w.p.Text(), "The bridge is connected."), nil
	})
	w.p.Screenshot("bridge-connected")
}

func (w *walk) putLocksOnDoors() {
	for _, room := range []string{"101", "102"} {
		w.visit("/app/locks")
		w.p.Next(room, room)
		w.p.Choose("Door", room)
		if room == "101" {
			w.check("lock")
		}
		w.p.Click("Put on this door")
		w.p.WaitText("The door is changed.")
	}
}

var (
	clientToken = regexp.MustCompile(`<code class="secret">(lkc_[^<]+)</code>`)
	accessToken = regexp.MustCompile(`<code class="secret">(lka_[^<]+)</code>`)
)

// addApp adds the PMS on the pages of the operator, in a browser of its own, and returns the client token for the vendor. The operator's own
// token comes from the server's machine, as latchkey admin token create makes it.
func (w *walk) addApp(name string) (client string) {
	made, err := adminv1.NewTokenServiceClient(w.api.Socket).CreateOperatorToken(w.t.Context(), &adminv1.CreateOperatorTokenRequest{Name: "Ana's laptop"})
	w.must(err)
	p := browser.Open(w.t, browser.WithSize(browser.Desktop))
	p.Visit("http://" + w.web + "/operator/login")
	p.Fill("Operator token", made.GetToken())
	p.Next("Sign in", "Overview")
	p.Next("PMS apps", "PMS apps")
	p.Fill("Vendor", name)
	p.Click("Create app")
	p.WaitText("Shown once")
	token := clientToken.FindStringSubmatch(p.HTML())
	if token == nil {
		w.t.Fatal("the page shows no client token")
	}
	return token[1]
}

// connectPMS connects the PMS on the page, after the operator has added it. Its vendor enters the tokens, and the PMS registers its addresses.
func (w *walk) connectPMS() {
	client := w.addApp("Sandbox PMS")
	w.step("PMS Connect it, and give its vendor the access token.")
	w.p.Click("Connect Sandbox PMS")
	w.p.WaitText("Access token")
	w.check("pms")
	token := accessToken.FindStringSubmatch(w.p.HTML())
	if token == nil {
		w.t.Fatal("the page shows no access token")
	}
	w.pms.SetCredentials("http://"+w.web, client, token[1])
	w.must(w.pms.Register(w.t.Context(), w.pmsURL))
	w.visit("/app/settings/integrations")
	w.p.Click("Invite guests")
	w.p.WaitText("Guests of this PMS are invited to check in.")
}

func (w *walk) mapRooms() {
	w.step("Mapping Map every room and bed that the PMS lists to one of yours.")
	w.p.Click("Read the PMS’s rooms again")
	w.p.WaitText("The list of the PMS is read.")
	w.check("mapping")
	w.p.Click("Map all of them")
	w.p.WaitText("The mapping is saved.")
	w.p.Click("Make and map all of them")
	w.p.WaitText("The rooms are made and mapped.")
}

func (w *walk) setMailServer() {
	w.step("Mail Enter a mail server, so that invitations and codes reach guests.")
	w.p.Fill("Host", "127.0.0.1")
	w.p.Fill("Port", fmt.Sprint(w.mail.Port))
	w.p.Choose("Encryption", "None, only on the same machine")
	w.p.Fill("Address", "desk@miramar.example")
	w.p.Click("Save")
	w.p.WaitText("Saved.")
	w.p.Fill("Email", "marta@example.com")
	w.p.Click("Send a test mail")
	w.p.WaitText("The mail server took the test mail.")
	w.check("mail")
}

// book makes the PMS send a reservation for today, and returns the guest's link of the invitation.
func (w *walk) book() (link string) {
	today := time.Now()
	answer, err := w.pms.Push(w.t.Context(), "B-1001", map[string]any{
		"pmsNumber": "1001", "state": "confirmed", "roomId": "R1", "adultCount": 1,
		"fromDate": today.Format(time.DateOnly), "toDate": today.AddDate(0, 0, 2).Format(time.DateOnly),
		"booker": map[string]any{"firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com"},
	})
	w.must(err)
	if answer.Status != http.StatusOK {
		w.t.Fatalf("the server answers the PMS with %d: %v", answer.Status, answer.Body)
	}
	w.await("the invitation", func() (bool, error) {
		for _, mail := range w.mail.Received() {
			plain := strings.ReplaceAll(mail, "=\r\n", "")
			if link = linkPath.FindString(plain); link != "" {
				link = "http://" + w.web + link
				return true, nil
			}
		}
		return false, nil
	})
	return link
}

// checkIn fills in the guest's form on a phone, checks in, and returns the PIN.
func (w *walk) checkIn(link string) (pin string) {
	p := browser.Open(w.t, browser.WithSize(browser.Phone))
	p.Visit(link)
	p.Next("Open my stay", "Your stay")
	fillName(p, "Ada", "Lovelace")
	p.Next("Arrival time To do", "When do you arrive?")
	p.Choose("When do you arrive?", "16:00")
	p.Next("Continue", "Your stay")
	p.Click("I am here: check in")
	walkTo(p, "Your code")
	p.Screenshot("guest-code")
	shown := pinText.FindStringSubmatch(p.HTML())
	if shown == nil {
		w.t.Fatalf("the page shows no PIN: %s", p.Text())
	}
	return strings.NewReplacer(" ", "", ",", "").Replace(shown[1])
}

// opens types a PIN at the keypad of a virtual lock until it opens.
func (w *walk) opens(address, pin string) {
	body, err := json.Marshal(map[string]string{"pin": pin})
	w.must(err)
	w.await("the door of "+address+" opens", func() (bool, error) {
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+w.keypads+"/"+address, bytes.NewReader(body))
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false, err
		}
		defer answer.Body.Close()
		var press sim.Press
		err = json.NewDecoder(answer.Body).Decode(&press)
		return press.Opened, err
	})
}

// showDay looks at what the owner sees when the guest is in.
func (w *walk) showDay() {
	w.visit("/app/today?tab=house")
	w.p.WaitText("Lovelace")
	w.check("today")
	w.p.Next("Ada Lovelace", "Ada Lovelace · #1001")
	w.check("reservation")
	w.visit("/app/spaces")
	w.check("spaces")
}
