package conformance

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// startWebhooks serves what scripts call $webhook, over TLS; $ca trusts it:
//
//	/allow   /deny    admit, and refuse
//	/label            admits, with a label hooked: "yes"
//	/warn             admits, with a warning
//	/broken           answers 500
//	/convert          converts to any version, and says so in an annotation
func startWebhooks(t *testing.T) (url, ca string) {
	s := httptest.NewTLSServer(http.HandlerFunc(serveWebhook))
	t.Cleanup(s.Close)
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s.URL, base64.StdEncoding.EncodeToString(chain)
}

// review is what admission and conversion reviews have in common.
type review struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Request    *reviewRequest  `json:"request,omitempty"`
	Response   *reviewResponse `json:"response,omitempty"`
}

type reviewRequest struct {
	UID               types.UID        `json:"uid"`
	DesiredAPIVersion string           `json:"desiredAPIVersion"`
	Objects           []map[string]any `json:"objects"`
	Object            struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	} `json:"object"`
}

type reviewResponse struct {
	UID              types.UID        `json:"uid"`
	Allowed          bool             `json:"allowed"`
	Status           map[string]any   `json:"status,omitempty"`
	Result           map[string]any   `json:"result,omitempty"`
	Patch            []byte           `json:"patch,omitempty"`
	PatchType        string           `json:"patchType,omitempty"`
	Warnings         []string         `json:"warnings,omitempty"`
	ConvertedObjects []map[string]any `json:"convertedObjects,omitempty"`
}

func serveWebhook(w http.ResponseWriter, r *http.Request) {
	var v review
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil || v.Request == nil {
		http.Error(w, "not a review", http.StatusBadRequest)
		return
	}
	answer := &reviewResponse{UID: v.Request.UID, Allowed: true}
	switch strings.TrimPrefix(r.URL.Path, "/") {
	case "deny":
		answer.Allowed = false
		answer.Status = map[string]any{"message": "not today", "code": http.StatusForbidden}
	case "label":
		path, value := "/metadata/labels/hooked", `"yes"`
		if v.Request.Object.Metadata.Labels == nil {
			path, value = "/metadata/labels", `{"hooked": "yes"}`
		}
		answer.Patch = []byte(`[{"op": "add", "path": "` + path + `", "value": ` + value + `}]`)
		answer.PatchType = "JSONPatch"
	case "warn":
		answer.Warnings = []string{"mind the gap"}
	case "broken":
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	case "convert":
		answer.Result = map[string]any{"status": "Success"}
		for _, object := range v.Request.Objects {
			object["converted"] = "to " + v.Request.DesiredAPIVersion
			object["apiVersion"] = v.Request.DesiredAPIVersion
			answer.ConvertedObjects = append(answer.ConvertedObjects, object)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review{APIVersion: v.APIVersion, Kind: v.Kind, Response: answer})
}
