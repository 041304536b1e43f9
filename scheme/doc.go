// Package scheme knows which Go type stands for which kind, and how both go
// over the wire.
//
// # Where it sits
//
//	   Go object ──► GVKForObject ──► client: path and body of the request
//	                    SCHEME
//	      New  ◄──────── kind ◄────── Codecs: bytes of the answer
//	       ▲
//	Install(AddToScheme of any API package)
//
// # Contract
//
//  1. One kind has one Go type; one Go type may have several kinds. A kind that
//     is given to a second type is a [ConflictError] that names both.
//  2. A registration happens whole or not at all: after an error the scheme is
//     as it was. Nothing that is registered panics, and nothing is ever taken
//     out. The same registration twice is the same as once.
//  3. Every method may be called from any goroutine at any time. A lookup takes
//     no lock and sees each registration whole or not at all.
//  4. Two schemes share nothing that changes.
//  5. GVKForObject answers with one kind or an error that says why not: it never
//     guesses. Types that stand in every group (ListOptions, WatchEvent, …) or
//     in no version (Status) never make an object's kind doubtful.
//  6. Encoding never writes to the object (but for what apimachinery's Quantity
//     remembers of its own text), and the bytes always carry apiVersion and
//     kind, whatever the object's TypeMeta says.
//  7. Decoding replaces the target, it never merges into it; the result, and
//     every item of a typed list, carries its kind.
//
// # Upstream
//
//	Scheme, New             apimachinery pkg/runtime/scheme.go
//	Scheme.Install          controller-runtime pkg/scheme/scheme.go (Builder)
//	Scheme.GVKForObject     controller-runtime pkg/client/apiutil/apimachinery.go
//	Scheme.Codecs           apimachinery pkg/runtime/serializer/codec_factory.go
//	Builtin                 client-go kubernetes/scheme/register.go
//
// Differs on purpose: there is no conversion, so internal versions are never an
// object's kind; registering returns errors where upstream panics, and is safe
// beside lookups; there is no scheme that the whole process shares; a second
// SetVersionPriority moves what it names to the front and keeps the order of
// the rest; encoders copy the struct where upstream writes the kind into the
// caller's object and takes it out again; decoders keep the kind where
// upstream's WithoutVersionDecoder clears it.
package scheme
