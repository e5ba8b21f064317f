package sim

import (
	"encoding/json"
	"net/http"

	"latchkey.dev/internal/lock/slot"
)

const maxPress = 1 << 10 // bytes

// Keypads serves the house's keypads: POST /{address} with {"pin": "..."} answers a Press. It is for tests, on loopback: any client can
// guess PINs.
func Keypads(h *House) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{address}", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			PIN string `json:"pin"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPress)).Decode(&in); err != nil {
			http.Error(w, `want {"pin": "..."}`, http.StatusBadRequest)
			return
		}
		p, err := h.Press(r.PathValue("address"), slot.PIN(in.PIN))
		if err != nil {
			http.Error(w, "no such lock", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(p)
	})
	return mux
}
