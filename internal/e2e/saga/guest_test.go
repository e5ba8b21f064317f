package saga

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/e2e/program"
)

// guest checks in alone with the link of the mail. A call that the server does not answer is repeated, as a page does that is loaded again.
type guest struct {
	w      *world
	number string
	room   string
	id     string // id is the PMS's id of the reservation
	email  string
	at     func(step) // at is called around each step

	token  string
	stay   string // stay is the service's id of the reservation
	pin    string
	last   string   // last is the stage that the guest last read
	stages []string // stages has each stage that the guest reached, in order
}

// step is a step of the guest, before or after its answer.
type step string

const (
	opening    step = "the link is opened"
	opened     step = "the link was opened"
	saving     step = "the form is saved"
	saved      step = "the form was saved"
	starting   step = "the check-in starts"
	started    step = "the check-in was started"
	confirming step = "the details are confirmed"
	confirmed  step = "the details were confirmed"
	clearing   step = "staff clear the identity check"
	cleared    step = "staff have cleared the identity check"
	signing    step = "the form is signed"
	signed     step = "the form was signed"
	accepting  step = "the house rules are accepted"
	accepted   step = "the house rules were accepted"
	completing step = "the last button is pressed"
	completed  step = "the last button was pressed"
	revealing  step = "the PIN is asked for"
	revealed   step = "the PIN was shown"
)

// drawing is what each guest signs with.
const drawing = "17,23 931,377;411,389 402,13"

// checkIn goes from the booking to the PIN, and reads it twice.
func (g *guest) checkIn(ctx context.Context) error {
	if err := g.w.book(ctx, g); err != nil {
		return err
	}
	if err := g.open(ctx); err != nil {
		return fmt.Errorf("%s: open the link: %w", g.number, err)
	}
	err := program.Await(ctx, g.number+" is checked in", func() (bool, error) { return g.goOn(ctx) })
	if err != nil {
		return fmt.Errorf("%s: %w (last stage: %s)", g.number, err, g.last)
	}
	g.at(revealing)
	if g.pin, err = g.readPIN(ctx); err != nil {
		return err
	}
	g.at(revealed)
	again, err := g.readPIN(ctx)
	if err == nil && again != g.pin {
		err = fmt.Errorf("%s: the PIN has changed after it was shown", g.number)
	}
	return err
}

// readPIN waits for the PIN.
func (g *guest) readPIN(ctx context.Context) (pin string, err error) {
	err = program.Await(ctx, g.number+" reads the PIN", func() (bool, error) {
		shown, err := guestv1.NewStayServiceClient(g.w.Public).RevealPin(g.as(ctx), &guestv1.RevealPinRequest{})
		pin = shown.GetData().GetPin()
		return pin != "", err
	})
	return pin, err
}

var linkSecret = regexp.MustCompile(`/g/l/([A-Za-z0-9_-]+)`)

// open waits for a mail with a link that no device uses, and binds the device. If the answer was lost, the link counts as used by another
// device, and the guest asks for a new one. If the mail was lost, staff send it again.
func (g *guest) open(ctx context.Context) error {
	var used []string
	return g.w.awaitMails(ctx, g.number+" has opened a link", func() (bool, error) {
		for _, text := range g.w.mailsTo(g.email) {
			m := linkSecret.FindStringSubmatch(text)
			if m == nil || slices.Contains(used, m[1]) {
				continue
			}
			links := guestv1.NewLinkServiceClient(g.w.Public)
			g.at(opening)
			bound, err := links.BindLink(ctx, &guestv1.BindLinkRequest{Link: m[1]})
			if err == nil {
				g.token, g.stay = bound.GetData().GetToken(), bound.GetData().GetStayId()
				g.at(opened)
				return true, nil
			}
			if status.Code(err) == codes.FailedPrecondition {
				if _, err = links.RenewLink(ctx, &guestv1.RenewLinkRequest{Link: m[1]}); err == nil {
					used = append(used, m[1])
				}
			}
			return false, err
		}
		return false, errors.Join(errors.New("no mail with an unused link"), g.w.resendLost())
	})
}

func (g *guest) as(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+g.token)
}

// goOn does what the present stage asks for. It reports whether the guest is checked in.
func (g *guest) goOn(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	api := guestv1.NewCheckInServiceClient(g.w.Public)
	now, err := api.GetCheckIn(g.as(ctx), &guestv1.GetCheckInRequest{})
	if err != nil {
		return false, err
	}
	g.last = describe(now.GetData())
	stage := now.GetData().GetStage()
	if len(g.stages) == 0 || g.stages[len(g.stages)-1] != stage {
		g.stages = append(g.stages, stage)
	}
	switch stage {
	case "details":
		err = g.save(ctx, now.GetData().GetMissingGuestIds())
	case "start":
		err = g.do(starting, started, func() error {
			_, err := api.StartCheckIn(g.as(ctx), &guestv1.StartCheckInRequest{})
			return err
		})
	case "confirmDetails":
		err = g.do(confirming, confirmed, func() error {
			_, err := api.ConfirmDetails(g.as(ctx), &guestv1.ConfirmDetailsRequest{})
			return err
		})
	case "identityCheck":
		err = g.do(clearing, cleared, func() error { return g.w.clear(ctx, g.stay, stage) })
	case "signature":
		err = g.do(signing, signed, func() error { return g.sign(ctx, now.GetData().GetUnsignedGuestIds()) })
	case "houseRules":
		err = g.do(accepting, accepted, func() error {
			_, err := guestv1.NewFormServiceClient(g.w.Public).AcceptHouseRules(g.as(ctx), &guestv1.AcceptHouseRulesRequest{})
			return err
		})
	case "ready":
		err = g.do(completing, completed, func() error {
			_, err := api.CompleteCheckIn(g.as(ctx), &guestv1.CompleteCheckInRequest{})
			return err
		})
	case "stopped":
		if !now.GetData().GetStops()[0].GetRetry() {
			return false, fmt.Errorf("stopped for good: %v", now.GetData().GetStops())
		}
		_, err = api.AskAgain(g.as(ctx), &guestv1.AskAgainRequest{})
	case "calling", "waiting":
	case "checkedIn":
		return true, nil
	default:
		err = errors.New("unexpected stage " + stage)
	}
	return false, err
}

func (g *guest) do(before, after step, call func() error) error {
	g.at(before)
	err := call()
	if err == nil {
		g.at(after)
	}
	return err
}

func (g *guest) save(ctx context.Context, missing []string) error {
	if len(missing) == 0 {
		return errors.New("no answers are missing in the stage of the details")
	}
	return g.do(saving, saved, func() error {
		_, err := guestv1.NewFormServiceClient(g.w.Public).SaveStep(g.as(ctx), &guestv1.SaveStepRequest{
			GuestId: missing[0], Step: "name", Answers: map[string]string{"firstName": "Ada", "lastName": "Lovelace"},
		})
		return err
	})
}

// sign draws the signature of the first guest without one, below the present answers.
func (g *guest) sign(ctx context.Context, unsigned []string) error {
	if len(unsigned) == 0 {
		return errors.New("no signature is missing in its stage")
	}
	forms := guestv1.NewFormServiceClient(g.w.Public)
	form, err := forms.GetForm(g.as(ctx), &guestv1.GetFormRequest{GuestId: unsigned[0]})
	if err != nil {
		return err
	}
	_, err = forms.SignForm(g.as(ctx), &guestv1.SignFormRequest{GuestId: unsigned[0], Shown: form.GetData().GetSignature().GetShown(), Drawing: drawing})
	return err
}

func describe(c *guestv1.CheckIn) string {
	var stops []string
	for _, s := range c.GetStops() {
		stops = append(stops, s.GetReason())
	}
	return strings.TrimSpace(c.GetStage() + " " + strings.Join(stops, " "))
}
