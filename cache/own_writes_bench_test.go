package cache

import (
	"context"
	"testing"

	"governor/client"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkReadAfterWrite is the time from a write's answer to a read that shows it: by
// the overlay, and by waiting for the watch.
func BenchmarkReadAfterWrite(b *testing.B) {
	for _, how := range []string{"overlay", "wait"} {
		b.Run(how, func(b *testing.B) {
			s := newServer(b)
			s.put(configMap("a", "there"))
			c := newCacheWith(b, s, nil, nil)
			start(b, c)
			d, err := client.NewDelegating(s.admin, c, &client.DelegatingOptions{DisableReadYourWritesConsistency: how == "wait"})
			if err != nil {
				b.Fatal(err)
			}
			ctx, obj, got := context.Background(), configMap("a", "there"), &corev1.ConfigMap{}
			if err := d.Get(ctx, key("a", "there"), obj); err != nil {
				b.Fatal(err)
			}
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				obj.Data = map[string]string{"n": string(rune('a' + n%26))}
				if err := d.Update(ctx, obj); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := d.Get(ctx, key("a", "there"), got, client.MinResourceVersion(obj.ResourceVersion)); err != nil {
					b.Fatal(err)
				}
				if got.ResourceVersion != obj.ResourceVersion {
					b.Fatalf("shows %s, not %s", got.ResourceVersion, obj.ResourceVersion)
				}
			}
		})
	}
}
