package guest

import (
	"encoding/json"
	"html/template"
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/web/kit"
)

// openView is what the page needs to open doors with the SmartKey of this browser.
type openView struct {
	Opens    bool // the session gets a SmartKey
	Device   string
	Says     []openSentence
	DoorName template.HTML // where the script puts the name of a door
}

// openSentence is what the script says about a door: the message web.open.KIND.
type openSentence struct{ Kind, Tone string }

// openSentences are the results of docs/smartkey.md, section 21, and the refusals that a guest can do something about.
var openSentences = []openSentence{
	{"press", ""}, {"sending", ""}, {"opened", "ok"}, {"refused", "bad"}, {"refused.notYetValid", "bad"}, {"refused.staleList", "bad"}, {"refused.clockUntrusted", "bad"},
	{"refused.revoked", "bad"}, {"failed", "bad"}, {"expired", "warn"}, {"unknown", "warn"}, {"offline", "warn"}, {"away", "warn"}, {"unreachable", "warn"}, {"slow", "warn"},
	{"ended", "bad"}, {"cannotKeep.insecure", ""}, {"cannotKeep.unable", ""}, {"cannotKeep.storage", ""}, {"notReady", ""}, {"noDoor", ""},
}

func (x *exchange) openView() openView {
	withheld := x.flow.Stay.GetPinWithheld()
	return openView{
		Opens:  !x.flow.Kiosk && (withheld == "" || withheld == "noCode"),
		Device: kit.DeviceOf(x.R.UserAgent()), Says: openSentences, DoorName: "<span data-name></span>",
	}
}

// keyLink answers the page's script with a link for the SmartKey of this browser.
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
