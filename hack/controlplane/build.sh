#!/bin/sh
# Builds the real control plane from its Go modules into bin/controlplane, once:
#
#   sh hack/controlplane/build.sh                            etcd and kube-apiserver
#   sh hack/controlplane/build.sh kube-controller-manager    that one as well
#
# A stamp beside each binary names what it was made of: go.mod, go.sum, this
# script and the Go toolchain. While they are the same, there is nothing to do.
# The stamp is written last, so an interrupted build leaves none.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "$here/../.." && pwd)/bin/controlplane
go=${GO:-go}

case $* in
'' | kube-controller-manager) ;;
*)
	echo "control plane: cannot build \"$*\": only kube-controller-manager can be asked for" >&2
	exit 2
	;;
esac

made_of=$(cd "$here" && {
	cat go.mod go.sum build.sh | cksum
	"$go" env GOVERSION GOOS GOARCH
})

missing=
for name in etcd kube-apiserver "$@"; do
	if [ ! -x "$out/$name" ] || [ "$(cat "$out/.$name.stamp" 2>/dev/null)" != "$made_of" ]; then
		missing="$missing $name"
	fi
done
if [ -z "$missing" ]; then
	echo "control plane: up to date in bin/controlplane"
	exit 0
fi

version=$("$go" -C "$here" list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v*.}
minor=${minor%%.*}
major=${version#v}
major=${major%%.*}
flag="-X k8s.io/component-base/version"
ldflags="-s -w $flag.gitVersion=$version $flag.gitMajor=$major $flag.gitMinor=$minor"

echo "control plane: building$missing (Kubernetes $version) into bin/controlplane, once: about 10 minutes of CPU"
start=$(date +%s)
mkdir -p "$out"
trap 'rm -f "$out"/.*.$$' EXIT
trap 'exit 130' INT TERM HUP
for name in $missing; do
	case $name in
	etcd) package=go.etcd.io/etcd/server/v3 ;;
	*) package=k8s.io/kubernetes/cmd/$name ;;
	esac
	"$go" -C "$here" build -trimpath -ldflags "$ldflags" -o "$out/.$name.$$" "$package"
	mv -f "$out/.$name.$$" "$out/$name"
	echo "$made_of" >"$out/.$name.stamp.$$"
	mv -f "$out/.$name.stamp.$$" "$out/.$name.stamp"
done
echo "control plane: built after $(($(date +%s) - start)) s"
