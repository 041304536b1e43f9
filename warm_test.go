package governor

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/prometheus/client_golang/prometheus"
	_ "github.com/prometheus/client_golang/prometheus/collectors"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "k8s.io/api/apidiscovery/v2"
	_ "k8s.io/apimachinery/pkg/util/yaml"
	_ "k8s.io/client-go/applyconfigurations/core/v1"
	_ "k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/rest"
	_ "k8s.io/client-go/tools/clientcmd"
	_ "k8s.io/client-go/util/cert"
	_ "k8s.io/klog/v2"
)
