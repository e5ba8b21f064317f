package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// TestTextsPage changes the texts of one language and leaves the others, and shows what guests read where a text is empty.
func TestTextsPage(t *testing.T) {
	t.Parallel()
	const path = "/app/settings/texts"
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	settings := propertyv1.NewCheckInServiceClient(w.Public)
	change := func(c *propertyv1.CheckInSettingsChange) *propertyv1.CheckInSettings {
		t.Helper()
		changed, err := settings.UpdateCheckInSettings(w.Staff(t.Context()), &propertyv1.UpdateCheckInSettingsRequest{Settings: c})
		if err != nil {
			t.Fatal(err)
		}
		return changed.GetData()
	}
	texts := func(all map[string]*propertyv1.LocalTexts) *propertyv1.TextsByLanguage {
		return &propertyv1.TextsByLanguage{ByLanguage: all}
	}
	stored := func() map[string]*propertyv1.LocalTexts {
		t.Helper()
		return change(&propertyv1.CheckInSettingsChange{}).GetTexts()
	}
	shows := func(a shown, status int, all ...string) {
		t.Helper()
		for _, text := range all {
			if a.status != status || !strings.Contains(a.text, text) {
				t.Errorf("%d to %q without %q: %s", a.status, a.moved, text, a.text)
			}
		}
	}
	change(&propertyv1.CheckInSettingsChange{
		HouseRules: new("Quiet from 22:00.\nNo candles."), Directions: new(""), Address: new(""),
		Texts: texts(map[string]*propertyv1.LocalTexts{"es": {HouseRules: "Silencio.", Address: "Calle Mayor 1"}}),
	})
	page := s.do(http.MethodGet, path, nil)
	shows(page, http.StatusOK, "Guests read this instead:</div>\n<div class=\"quiet\">Quiet from 22:00.</div>\n<div class=\"quiet\">No candles.</div>",
		"The text for all languages is empty too", "Guests do not read this, because the text for all languages is empty.", ">Silencio.</textarea>")
	if n := strings.Count(page.text, "Guests read this instead:"); n != 3 { // de, en and fr
		t.Errorf("%d texts have a fallback", n)
	}
	if page.field("box") != "settings.texts" {
		t.Errorf("the form does not name its setting: %s", page.text)
	}
	post := func(etag, tag string, form url.Values) shown {
		form["form"], form["etag"], form["box"] = []string{tag}, []string{etag}, []string{"settings.texts"}
		return s.do(http.MethodPost, path, form)
	}
	etag := page.field("etag")
	if a := post(etag, "de", url.Values{"texts.de.houseRules": {"Ruhe ab 22 Uhr.\r\nKeine Kerzen."}, "texts.es.houseRules": {"of another form"}}); a.moved != path+"?done=saved" {
		t.Errorf("save: %d to %q: %s", a.status, a.moved, a.text)
	}
	if all := stored(); len(all) != 2 || all["de"].GetHouseRules() != "Ruhe ab 22 Uhr.\nKeine Kerzen." || all["es"].GetHouseRules() != "Silencio." || all["es"].GetAddress() != "Calle Mayor 1" {
		t.Errorf("stored: %v", all)
	}

	// A colleague changed the same text meanwhile.
	change(&propertyv1.CheckInSettingsChange{Texts: texts(map[string]*propertyv1.LocalTexts{"de": {HouseRules: "Ruhe ab 23 Uhr.", Directions: "Vom Bahnhof links."}})})
	mine := func() url.Values {
		return url.Values{"texts.de.houseRules": {"Ruhe ab 21 Uhr.\r\nKeine Kerzen."}, "texts.de.directions": {"Vom Bahnhof links."}}
	}
	refused := post(etag, "de", mine())
	shows(refused, http.StatusConflict, "Another person changed the texts.", "Ruhe ab 21 Uhr.", "Stored now:</div>\n<div class=\"quiet\">Ruhe ab 23 Uhr.</div>")
	if n := strings.Count(refused.text, "Stored now:"); n != 1 {
		t.Errorf("%d texts differ from what is stored: %s", n, refused.text)
	}
	if a := post(refused.field("etag"), "de", mine()); a.moved != path+"?done=saved" || stored()["de"].GetDirections() != "Vom Bahnhof links." {
		t.Errorf("save again: %d to %q: %s", a.status, a.moved, a.text)
	}

	etag = s.do(http.MethodGet, path, nil).field("etag")
	long := strings.Repeat("a", 501)
	shows(post(etag, "fr", url.Values{"texts.fr.address": {long}, "texts.fr.directions": {"À gauche."}}), http.StatusUnprocessableEntity,
		`href="#f-texts.fr.address"`, "Shorten the answer.", ">"+long+"</textarea>", ">À gauche.</textarea>")
	if a := post(etag, "de", url.Values{"texts.de.houseRules": {" "}}); a.moved != path+"?done=saved" || len(stored()) != 0 {
		t.Errorf("remove the texts of a language: %d to %q, stored %v", a.status, a.moved, stored())
	}
	if a := post(etag, "tlh", url.Values{"texts.tlh.houseRules": {"x"}}); a.moved != path || len(stored()) != 0 {
		t.Errorf("a language without pages: %d to %q: %s", a.status, a.moved, a.text)
	}
}

// TestRetentionPage shows how long the server keeps what the property does not set.
func TestRetentionPage(t *testing.T) {
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Server.KeepStays = 400 * 24 * time.Hour })
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	a := s.do(http.MethodGet, "/app/settings/retention", nil)
	for _, text := range []string{"<span>Reservations, at the longest</span> <strong>400 days</strong>", "<span>Audit log, and names of former colleagues</span> <strong>1095 days</strong>", "<span>Expired links and sessions of guests</span> <strong>1 day</strong>"} {
		if a.status != http.StatusOK || !strings.Contains(a.text, text) {
			t.Errorf("%d without %q: %s", a.status, text, a.text)
		}
	}
}
