package guest

import (
	"encoding/json"
	"html/template"
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/web/kit"
)

// openView is what a page needs to open doors with the SmartKey of this browser.
type openView struct {
	Opens    bool           // the session may have a SmartKey, a token on the device that opens doors
	Device   string         // kind of device, such as iPhone
	Says     []openSentence // the texts that the script can show
	DoorName template.HTML  // element into which the script writes the name of a door
}

// openSentence is a text that the script shows about a door: the message web.open.KIND. Tone is ok, warn or bad; empty: neutral.
type openSentence struct{ Kind, Tone string }

// openSentences are the results of opening a door in docs/smartkey.md, section 21, and the refusals that a guest can resolve.
var openSentences = []openSentence{
	{"press", ""}, {"sending", ""}, {"opened", "ok"}, {"refused", "bad"}, {"refused.notYetValid", "bad"}, {"refused.staleList", "bad"}, {"refused.clockUntrusted", "bad"},
	{"refused.revoked", "bad"}, {"failed", "bad"}, {"expired", "warn"}, {"unknown", "warn"}, {"offline", "warn"}, {"away", "warn"}, {"unreachable", "warn"}, {"slow", "warn"},
	{"ended", "bad"}, {"moved", "warn"}, {"cannotKeep.insecure", ""}, {"cannotKeep.unable", ""}, {"cannotKeep.storage", ""}, {"notReady", ""}, {"noDoor", ""},
}

// openView returns the data for opening doors from the page. A kiosk opens none, nor does a session from which the PIN is withheld for
// another reason than that there is none yet.
func (x *exchange) openView() openView {
	withheld := x.flow.Stay.GetPinWithheld()
	return openView{
		Opens:  !x.flow.Kiosk && (withheld == "" || withheld == "noCode"),
		Device: kit.DeviceOf(x.R.UserAgent()), Says: openSentences, DoorName: "<span data-name></span>",
	}
}

// keyLink handles the script's request for a link that sets up the SmartKey of this browser. The link replaces an earlier one that was not
// used.
func (s *site) keyLink(x *exchange) error {
	made, err := s.api.Stays.CreateSmartKeyLink(x.callContext(), &guestv1.CreateSmartKeyLinkRequest{})
	if err != nil {
		return err
	}
	x.W.Header().Set("Content-Type", "application/json")
	x.W.WriteHeader(http.StatusCreated)
	return json.NewEncoder(x.W).Encode(struct {
		Link string `json:"link"`
	}{made.GetLink()})
}
