package saga

import (
	"context"
	"slices"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// lawSteps are the steps that a check-in has only where the law wants them, and the end of a check-in: at each, the server is killed.
var lawSteps = []step{clearing, cleared, signing, signed, revealed}

// The server is killed while staff clear the identity check, while the guest signs, and after the PIN was shown. What was answered is never
// asked again, staff have the signature as it was drawn, the PIN stays the same, and the PMS and the mailbox see each guest once.
func TestKillAtClearanceSignatureAndPIN(t *testing.T) {
	t.Parallel()
	w := open(t, "sqlite", len(lawSteps))
	check, signature := "live", "drawn"
	api := propertyv1.NewCheckInServiceClient(w.Public)
	_, err := api.UpdateCheckInSettings(w.asStaff(), &propertyv1.UpdateCheckInSettingsRequest{
		Settings: &propertyv1.CheckInSettingsChange{IdentityCheck: &check, Signature: &signature},
	})
	w.must(err)
	r := &run{world: w}
	r.invite(make([]point, len(lawSteps)))
	for i, s := range lawSteps {
		r.killAt(i, point{name: string(s)})
	}
	r.all.Wait()
	r.judge(t.Context())
	for i, g := range r.guests {
		g.judgeLaw(t, string(lawSteps[i]))
	}
	w.judgeAudit(t, r.guests)
}

// clear clears a stage as a member of the staff.
func (w *world) clear(ctx context.Context, stay, stage string) error {
	_, err := propertyv1.NewCheckInServiceClient(w.Public).ClearStage(w.withStaff(ctx), &propertyv1.ClearStageRequest{ReservationId: stay, Stage: stage})
	return err
}

// judgeLaw checks that the guest was asked once for each stage of the law, and what staff have of them.
func (g *guest) judgeLaw(t *testing.T, point string) {
	t.Helper()
	if want := []string{"identityCheck", "signature"}; !slices.Equal(slices.DeleteFunc(slices.Clone(g.stages), func(s string) bool { return !slices.Contains(want, s) }), want) {
		t.Errorf("killed at %q: the guest went through the stages %v", point, g.stages)
	}
	api := propertyv1.NewCheckInServiceClient(g.w.Public)
	shown, err := api.GetCheckIn(g.w.asStaff(), &propertyv1.GetCheckInRequest{ReservationId: g.stay})
	g.w.must(err)
	if c := shown.GetData().GetCleared(); len(c) != 1 || c[0].GetStage() != "identityCheck" || c[0].GetBy() == "pms" {
		t.Errorf("killed at %q: cleared: %v", point, c)
	}
	signed, err := api.GetSignature(g.w.asStaff(), &propertyv1.GetSignatureRequest{ReservationId: g.stay, GuestId: shown.GetData().GetGuests()[0].GetId()})
	if err != nil || !strings.Contains(signed.GetData().GetSvg(), "M17 23L931 377") {
		t.Errorf("killed at %q: the signature is %q, %v", point, signed.GetData().GetSvg(), err)
	}
}
