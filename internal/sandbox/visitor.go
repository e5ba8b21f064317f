package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Visitor is a guest who uses the pages of the service on a phone, with a browser without script.
type Visitor struct {
	b    *browser
	site string // the scheme and host of all pages
	// Home is the path of the page of the stay.
	Home string
	// Question is the path below Home of the first question of the form, once [Visitor.Form] has opened it.
	Question string
}

// VisitByDoor opens the address in the QR code at the door and finds a reservation by its number and a family name, as a guest without a
// link does.
func (w *World) VisitByDoor(ctx context.Context, number, family string) (*Visitor, error) {
	address := w.DoorAddress()
	if address == "" {
		return nil, errors.New("this world has no kiosk: build it with Play")
	}
	return VisitByDoor(ctx, address, number, family)
}

// DoorAddress returns the address in the QR code at the door, or "" without Play.
func (w *World) DoorAddress() string {
	door, _ := w.kiosk()
	if door == "" {
		return ""
	}
	return "http://" + w.Server.HTTPAddr() + "/q/" + door
}

// VisitByDoor is [World.VisitByDoor] with the address in the QR code, so that another process can call it.
func VisitByDoor(ctx context.Context, address, number, family string) (*Visitor, error) {
	b, err := newBrowser()
	if err != nil {
		return nil, err
	}
	if err := b.open(ctx, address); err != nil {
		return nil, err
	}
	if err := b.submit(ctx, map[string]string{"f-number": number, "f-name": family}); err != nil {
		return nil, err
	}
	home := b.at.Path
	if i := strings.Index(home, "/checkin"); i > 0 {
		home = home[:i]
	}
	if !strings.HasPrefix(home, "/g/stays/") {
		return nil, fmt.Errorf("the search ends at %s (%s)", home, b.heading())
	}
	return &Visitor{b: b, site: b.at.Scheme + "://" + b.at.Host, Home: home}, nil
}

// Open opens the page at the path Home + below and returns the size of its HTML in bytes. A status other than 200 is an error.
func (v *Visitor) Open(ctx context.Context, below string) (size int, err error) {
	err = v.b.open(ctx, v.Home+below)
	return len(v.b.page), err
}

// Poll loads the state of the stay's doors, as the script of an open page does repeatedly.
func (v *Visitor) Poll(ctx context.Context) error {
	_, err := v.Open(ctx, "/key/doors?codes")
	return err
}

// Form opens the form that the page of the stay links to. Then Question is the path of its first question.
func (v *Visitor) Form(ctx context.Context) error {
	if _, err := v.Open(ctx, ""); err != nil {
		return err
	}
	links := v.b.links()
	at := slices.IndexFunc(links, func(l string) bool { return strings.Contains(l, "/form/") })
	if at < 0 {
		return fmt.Errorf("the page of the stay (%s) has no link to a form", v.b.heading())
	}
	err := v.b.open(ctx, links[at])
	v.Question = strings.TrimPrefix(v.b.at.Path, v.Home)
	return err
}

// AnswerName opens the form and answers the question for the guest's name. It also sets Question: see Form.
func (v *Visitor) AnswerName(ctx context.Context, first, last string) error {
	if err := v.Form(ctx); err != nil {
		return err
	}
	return v.b.submit(ctx, map[string]string{"f-firstName": first, "f-lastName": last})
}

// Prepare does all steps of the check-in except the last press, which Complete does. It fails after 20 steps.
func (v *Visitor) Prepare(ctx context.Context) error {
	if _, err := v.Open(ctx, "/checkin"); err != nil {
		return err
	}
	for range 20 {
		if v.next() == "complete" {
			return nil
		}
		if _, err := v.b.press(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("the check-in stays at %s (%s)", v.b.at.Path, v.b.heading())
}

// next returns the value of the button for the next step, such as "complete", or "" if the page has none.
func (v *Visitor) next() string {
	for _, f := range v.b.forms() {
		if len(f.does) > 0 {
			return f.does[0]
		}
	}
	return ""
}

// Complete presses the last button of the check-in, which Prepare has reached, and loads the page of the key again and again, without
// pauses, until it shows the PIN. It returns the error of ctx if that ends before.
func (v *Visitor) Complete(ctx context.Context) (pin string, err error) {
	if _, err := v.b.press(ctx); err != nil {
		return "", err
	}
	for ctx.Err() == nil {
		if pin := pinOn(v.b.page); pin != "" {
			return pin, nil
		}
		if _, err := v.Open(ctx, "/key"); err != nil {
			return "", err
		}
	}
	return "", ctx.Err()
}

// Write sends a message to the property from the page of messages.
func (v *Visitor) Write(ctx context.Context, text string) error {
	if _, err := v.Open(ctx, "/messages"); err != nil {
		return err
	}
	return v.b.submit(ctx, map[string]string{"f-text": text})
}

// Follow calls receive with the number of each message of the conversation after the given number, as an open page gets them. It returns
// nil when the server closes the stream, and an error when ctx ends. Other methods can be called at the same time.
func (v *Visitor) Follow(ctx context.Context, after int32, receive func(number int32)) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.site+v.Home+"/messages/live", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Last-Event-ID", strconv.Itoa(int(after)))
	a, err := (&http.Client{Jar: v.b.client.Jar}).Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream of messages answered %d", a.StatusCode)
	}
	lines := bufio.NewScanner(a.Body)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		number, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fmt.Errorf("the stream of messages sent %q", text)
		}
		receive(int32(number))
	}
	return lines.Err()
}
