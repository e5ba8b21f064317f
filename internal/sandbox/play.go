package sandbox

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"latchkey.dev/internal/clock"
)

// playFiles are the page, its style and its script.
//
//go:embed play
var playFiles embed.FS

// play is the play page, on which a person tries the demo out in a browser: the PMS's desk, the mailbox, the guests' stays, the doors and
// their locks, the kiosk, the guest's phone and the staff. It listens on loopback only, and needs no login: everything behind it is
// simulated.
type play struct {
	w    *World
	page *template.Template
	zone *time.Location

	mu         sync.Mutex
	notes      map[string]note   // notes has the outcome of the last action in each section
	presses    map[string]note   // presses has the outcome of the last PIN typed at each door
	faults     map[string]faults // faults has the faults that each lock simulates, by the door's id
	recipients map[string]string // recipients has the address of each mail that was loaded, by the mail's id
	opened     string            // opened is the PMS's id of the reservation whose controls at the desk stay open
	openedLock string            // openedLock is the id of the door whose lock's controls the page shows unfolded; empty: none
	openedStay string            // openedStay is the PMS's id of the reservation whose controls in the section of stays are open
	stays      map[string]string // stays has the service's id of each reservation, by the PMS's id
}

// note is a sentence for the reader, and how it is coloured: ok, warn, bad or "".
type note struct{ Kind, Text string }

// PlayURL returns the address of the play page, or "" if the World has none.
func (w *World) PlayURL() string {
	if w.play == nil {
		return ""
	}
	return "http://" + w.play.Addr().String() + "/"
}

// newPlay returns the handler of the play page.
func newPlay(w *World) (http.Handler, error) {
	page, err := template.ParseFS(playFiles, "play/play.html")
	if err != nil {
		return nil, err
	}
	zone, err := clock.Zone(demoZone)
	if err != nil {
		return nil, err
	}
	p := &play{w: w, page: page, zone: zone, notes: map[string]note{}, presses: map[string]note{}, faults: map[string]faults{}, recipients: map[string]string{}, stays: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.showBoard)
	mux.HandleFunc("GET /mail", p.listMails)
	mux.HandleFunc("GET /mail/{id}", p.showMail)
	mux.HandleFunc("GET /mail/{id}/html", p.showMailHTML)
	mux.HandleFunc("POST /desk", p.createBooking)
	mux.HandleFunc("POST /desk/{id}", p.changeBooking)
	mux.HandleFunc("POST /doors/{id}", p.typePIN)
	mux.HandleFunc("POST /doors/{id}/lock", p.changeLock)
	mux.HandleFunc("POST /stays/{id}", p.changeStay)
	mux.HandleFunc("GET /stays/{id}/data", p.exportStay)
	mux.HandleFunc("POST /kiosk", p.renewKioskCode)
	mux.HandleFunc("POST /staff", p.renewStaffLink)
	for name, kind := range map[string]string{"play.css": "text/css; charset=utf-8", "play.js": "text/javascript; charset=utf-8"} {
		mux.HandleFunc("GET /"+name, func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", kind)
			http.ServeFileFS(rw, r, playFiles, "play/"+name)
		})
	}
	return p.protect(mux), nil
}

// playPolicy is the Content-Security-Policy of the play page, which allows only what the page itself serves.
const playPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// protect wraps next, so that other websites cannot use it: it refuses requests with a foreign Host header (DNS rebinding), and forms of
// other sites. It also sets security headers and limits bodies.
func (p *play) protect(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Content-Security-Policy", playPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if address := p.w.play.Addr().String(); r.Host != address && r.Host != localhost(address) {
			http.Error(rw, "Open this page at http://"+address+"/", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(rw, r.Body, 64<<10)
		next.ServeHTTP(rw, r)
	})
}

// localhost returns the address with its host replaced by "localhost".
func localhost(address string) string {
	u := url.URL{Host: address}
	return "localhost:" + u.Port()
}

// pageView is what the template shows: the board, or one mail.
type pageView struct {
	Title string
	Board *boardView
	Mail  *mailView
}

// render writes the page, or an error page if the template fails.
func (p *play) render(rw http.ResponseWriter, v pageView) {
	var out bytes.Buffer
	if err := p.page.ExecuteTemplate(&out, "play.html", v); err != nil {
		p.w.log.Error("the play page failed", slog.Any("error", err))
		http.Error(rw, "The page could not be shown. The log has the error.", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = rw.Write(out.Bytes())
}

// redirectWithNote stores the note of an action and redirects the browser to its section of the page, which shows the note.
func (p *play) redirectWithNote(rw http.ResponseWriter, r *http.Request, section string, n note) {
	p.mu.Lock()
	p.notes[section] = n
	p.mu.Unlock()
	http.Redirect(rw, r, "/#"+section, http.StatusSeeOther)
}

// outcome returns the note of an action: the error, or the formatted text if err is nil.
func outcome(err error, format string, args ...any) note {
	if err != nil {
		return note{"bad", err.Error()}
	}
	return note{"ok", fmt.Sprintf(format, args...)}
}

// pushNote returns the note about an update that the PMS pushed, made from the service's answer or the error. text is the note of a
// success.
func pushNote(a Answer, err error, text string) note {
	switch reason, _ := a.Body["error"].(map[string]any); {
	case err != nil:
		return note{"bad", "The service did not take the update: " + err.Error()}
	case a.Status != http.StatusOK:
		return note{"bad", fmt.Sprintf("The service refused the update: %s", stringIn(reason, "message"))}
	}
	return note{"ok", text}
}

// pushFromPage pushes changed fields of a reservation as the PMS, and returns the note. text is the note of a success.
func (p *play) pushFromPage(ctx context.Context, id string, fields map[string]any, text string) note {
	a, err := p.w.PMS.Push(ctx, id, fields)
	return pushNote(a, err, text)
}
