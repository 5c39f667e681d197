#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the container image and looks at it as whoever runs it would. It fails if a second one has another digest, if it has 60 MB or more,
# a shell, a setuid file, a file that nothing accounts for or a package without its notices, or if it is not run by an own user. It runs it
# with runc, without a network, capabilities and a file system that could be written: a text, and packaging/examples/compose.yaml as it
# stands, with its health check. It reads the lists of what is inside, of the image and of what else make has left (wheel, packages).
# usage: tests/image.sh
# Environment: CUTTLE_TEST_NIGHTLY, also for arm64, whose command runs under qemu-user.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS CUTTLE_MODEL
./setup.sh oci
native=$(dpkg --print-architecture)
archs=("$native")
[ -z "${CUTTLE_TEST_NIGHTLY-}" ] || archs=(amd64 arm64)
make --no-print-directory -j2 build/cuttle build/tests/gen_tiny
make --no-print-directory oci OCI="${archs[*]}"
scratch=$(mktemp -d)
container=cuttle-test-$$
trap 'runc delete --force $container >/dev/null 2>&1 || :; rm -rf "$scratch"' EXIT
fail() {
	echo "FAILED: image.sh: $*"
	exit 1
}
version=$(sed -n 's/^.define CUTTLE_VERSION "\(.*\)"/\1/p' engine/cuttle/status.h)
for arch in "${archs[@]}"; do again+=("$arch=build-oci/$arch"); done
packaging/make_image.py "$scratch/again" "${again[@]}"
diff -r dist/oci "$scratch/again" || fail "a second image has other bytes"

skopeo inspect "oci:dist/oci:$version" >"$scratch/inspected" || fail "skopeo does not read it"
# What Docker is given: its form has the health check, which OCI's has as an extension.
skopeo copy --quiet "oci:dist/oci:$version" "docker-archive:$scratch/docker.tar:cuttle:$version"
tar -xOf "$scratch/docker.tar" "$(tar -xOf "$scratch/docker.tar" manifest.json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["Config"])')" >"$scratch/docker.json"

# unpack ARCHITECTURE FOLDER: the files, as a runtime would have them, and config.json of the image.
unpack() {
	mkdir "$2"
	python3 - "$1" "$2" <<-'END'
		import json, subprocess, sys
		blob = lambda one: "dist/oci/blobs/" + one["digest"].replace(":", "/")
		index = json.load(open(blob(json.load(open("dist/oci/index.json"))["manifests"][0])))
		image = json.load(open(blob(next(m for m in index["manifests"] if m["platform"]["architecture"] == sys.argv[1]))))
		for layer in image["layers"]:
		    subprocess.run(["tar", "-xzf", blob(layer), "-C", sys.argv[2]], check=True)
		bytes = sum(layer["size"] for layer in image["layers"])
		print(f"the image for {sys.argv[1]}: {bytes} bytes to fetch")
		open(sys.argv[2] + ".config", "wb").write(open(blob(image["config"]), "rb").read())
	END
}
for arch in "${archs[@]}"; do
	root=$scratch/$arch
	unpack "$arch" "$root"
	bytes=$(du -s --apparent-size --block-size=1 "$root" | cut -f1)
	echo "the image for $arch: $bytes bytes unpacked"
	[ "$bytes" -lt 60000000 ] || fail "$arch: $bytes bytes"
	said=$(find "$root" -perm /6000)
	[ -z "$said" ] || fail "$arch: setuid: $said"
	said=$(find "$root" ! -type l -perm /022 ! -path "$root/tmp")
	[ -z "$said" ] || fail "$arch: others may write to $said"
	# Programs: the command, the loader, and libc, which says its version when it is started.
	said=$(find "$root" -type f -perm /111 -printf '%f\n' | sort | tr '\n' ' ')
	[[ $said =~ ^cuttle\ ld-linux-[a-z0-9-]*\.so\.[0-9]\ libc\.so\.6\ $ ]] || fail "$arch: programs: $said"
	said=$(find "$root" -name '*sh' -o -name 'busybox*')
	[ -z "$said" ] || fail "$arch: a shell: $said"
	python3 - "$root" "$arch" "$scratch/docker.json" "$native" "dist/oci-$arch.spdx.json" "$version" <<-'END' || fail "$arch: see above"
		import hashlib, json, os, re, sys
		root, arch, docker, native, bom, version = sys.argv[1:]
		image = json.load(open(root + ".config"))
		config = image["config"]
		assert (image["os"], image["architecture"]) == ("linux", arch)
		user, group = config["User"].split(":")
		assert int(user) > 1000 and int(group) > 1000, "who runs it"
		assert config["Entrypoint"] == ["/usr/bin/cuttle"] and config["Labels"]["org.opencontainers.image.version"].startswith(version + "-")
		assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/cuttle", "serve", "health"]
		if arch == native:
		    assert json.load(open(docker))["config"]["Healthcheck"] == config["Healthcheck"], "Docker's form has no health check"
		# Each file is in the list with its hash, and nothing else is.
		files = {f["fileName"][2:]: f["checksums"][1]["checksumValue"] for f in json.load(open(bom))["files"]}
		found = {}
		for folder, _, names in os.walk(root):
		    for name in names:
		        path = os.path.join(folder, name)
		        if not os.path.islink(path):
		            found[os.path.relpath(path, root)] = hashlib.sha256(open(path, "rb").read()).hexdigest()
		        else:
		            # A link leads somewhere in the image.
		            target = os.readlink(path)
		            whole = root + target if target.startswith("/") else os.path.join(folder, target)
		            assert os.path.lexists(whole), f"{path} leads to {target}"
		assert found == files, f"the list differs in {sorted(set(found.items()) ^ set(files.items()))[:4]}"
		# What each package says of licences, and each text that it refers to.
		status = os.path.join(root, "var/lib/dpkg/status.d")
		for package in (name for name in os.listdir(status) if not name.endswith(".md5sums")):
		    notice = open(f"{root}/usr/share/doc/{package}/copyright", encoding="utf-8", errors="replace").read()
		    for text in re.findall(r"/usr/share/common-licenses/([A-Za-z]+(?:[-.0-9]*[0-9])?)", notice):
		        assert os.path.exists(f"{root}/usr/share/common-licenses/{text}"), f"{package} refers to {text}"
		assert open(root + "/etc/ssl/certs/ca-certificates.crt").read().count("END CERTIFICATE") > 100
	END
	packaging/sbom.py image dist/oci "$arch" | cmp - "dist/oci-$arch.spdx.json" || fail "$arch: a second list has other bytes"
done

# ---- run by runc: no network, nothing that can be written, no capability ---------------------------
build/tests/gen_tiny "$scratch/tiny.gguf" finite
printf '{"text":"%s"}\n' "Ada Brook, 41, gardener." "Sprained the left ankle." "Rest, ice, bandage." >"$scratch/in.jsonl"
options=(-q --clip 0.5 -B 3 -N 1 -n 20 --insecure-seed 7)
build/cuttle generate -m "$scratch/tiny.gguf" -i "$scratch/in.jsonl" -o "$scratch/native.jsonl" "${options[@]}" 2>"$scratch/log" || fail "$(cat "$scratch/log")"
uid=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["config"]["User"].split(":")[0])' "$scratch/$native.config")
mkdir -p "$scratch"/{bundle,private,work,state,keys,model}
cp "$scratch/in.jsonl" "$scratch/private"
cp "$scratch/tiny.gguf" "$scratch/model/model.gguf"
# bundle MOUNTS ENVIRONMENT WORD...: config.json of a container. MOUNTS: "folder:/place:ro,..." ENVIRONMENT: "A=b\nC=d", beside the image's.
# The words come behind the image's entry point.
bundle() {
	python3 - "$scratch/$native.config" "$scratch/$native" "$scratch/bundle/config.json" "$@" <<-'END'
		import json, sys
		image, root, out, mounts, environment, *words = sys.argv[1:]
		config = json.load(open(image))["config"]
		uid, gid = map(int, config["User"].split(":"))
		flags = ["nosuid", "nodev", "noexec"]
		mount = lambda place, kind, *more: {"destination": place, "type": kind, "source": kind, "options": [*flags, *more]}
		devices = {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "noexec", "mode=755", "size=64k"]}
		json.dump({
		    "ociVersion": "1.0.2",
		    "process": {"terminal": False, "user": {"uid": uid, "gid": gid}, "args": config["Entrypoint"] + words, "cwd": config["WorkingDir"],
		                "env": config["Env"] + [e for e in environment.split("\n") if e], "noNewPrivileges": True,
		                "capabilities": {"bounding": [], "effective": [], "permitted": []}},
		    "root": {"path": root, "readonly": True},
		    "mounts": [mount("/proc", "proc"), devices, mount("/dev/shm", "tmpfs", "mode=1777"),
		               *({"destination": place, "type": "bind", "source": source, "options": ["bind", *flags, access]}
		                 for source, place, access in (m.rsplit(":", 2) for m in mounts.split(",") if m))],
		    "linux": {"namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")]},
		}, open(out, "w"))
	END
}
contained() { (cd "$scratch/bundle" && bundle "$@" && runc run "$container") </dev/null >"$scratch/said" 2>&1; }
if [ "$(id -u)" != 0 ] || ! command -v runc >/dev/null; then
	echo "SKIPPED: the image is not run: that takes root and runc"
elif ! unshare --mount --net --pid --ipc --uts --fork --mount-proc true 2>/dev/null || [ -z "$(find /sys/fs/cgroup -maxdepth 1 -writable)" ]; then
	echo "SKIPPED: the image is not run: this machine lets nobody make namespaces and control groups"
else
	chmod 711 "$scratch"
	contained "" "" --version || fail "it does not run: $(cat "$scratch/said")"
	[ "$(cat "$scratch/said")" = "cuttle $version" ] || fail "--version says $(cat "$scratch/said")"
	chmod -R a+rX "$scratch/model"
	chmod 600 "$scratch"/private/*
	chown -R "$uid:$uid" "$scratch"/{private,work,state,keys}
	places=$scratch/private:/private:ro,$scratch/model:/model:ro,$scratch/work:/work:rw
	contained "$places" "" generate -m /model/model.gguf -i /private/in.jsonl -o out.jsonl "${options[@]}" || fail "generate: $(cat "$scratch/said")"
	cmp "$scratch/native.jsonl" "$scratch/work/out.jsonl" || fail "in the image there is another text"
	contained "$scratch/private:/private:ro,$scratch/model:/model:ro" "" generate -m /model/model.gguf -i /private/in.jsonl -o out.jsonl "${options[@]}" &&
		fail "it wrote to its own file system"
	# libcurl is loaded here, and libmicrohttpd by the server below.
	contained "" "" serve health && fail "a server is healthy that is not there"
	grep -q 'no answer from 127.0.0.1:8080' "$scratch/said" || fail "health: $(cat "$scratch/said")"

	# packaging/examples/compose.yaml, with its volumes, its environment and its health check.
	python3 - packaging/examples/compose.yaml "$version" "$scratch" <<-'END' || fail "compose.yaml: see above"
		import os, sys, yaml
		whole = yaml.safe_load(open(sys.argv[1]))
		one, scratch = whole["services"]["cuttle"], sys.argv[3]
		assert one["image"] == "cuttle:" + sys.argv[2] and one["read_only"] is True and one["cap_drop"] == ["ALL"]
		assert one["security_opt"] == ["no-new-privileges:true"] and one["user"] == "65532:65532" and one["command"] == ["serve"]
		mounts = []
		for volume in one["volumes"]:
		    source, place, *access = volume.split(":")
		    assert source.startswith("./") or source in whole["volumes"]
		    mounts.append(f"{scratch}/{source.removeprefix('./')}:{place}:{(access or ['rw'])[0]}")
		port = one["environment"]["CUTTLE_LISTEN"].rsplit(":", 1)[1]
		assert one["ports"] == [f"{port}:{port}"]
		open(scratch + "/mounts", "w").write(",".join(mounts))
		open(scratch + "/environment", "w").write("\n".join(f"{name}={value}" for name, value in one["environment"].items()))
		assert one["healthcheck"]["test"][0] == "CMD"
		open(scratch + "/health", "w").write("\n".join(one["healthcheck"]["test"][1:]) + "\n")
		# The commands of its heading, without what is Compose's.
		lines = [line[1:].strip() for line in open(sys.argv[1]) if "docker compose run" in line]
		open(scratch + "/first", "w").write("".join(line.split(" cuttle ", 1)[1] + "\n" for line in lines))
		assert len(lines) == 2
	END
	openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=cuttle.example -keyout "$scratch/keys/key.pem" -out "$scratch/keys/cert.pem" -days 2 2>/dev/null ||
		fail "openssl"
	chmod 600 "$scratch"/keys/*
	chown -R "$uid:$uid" "$scratch/keys"
	mounts=$(cat "$scratch/mounts") environment=$(cat "$scratch/environment")
	while read -r -a words; do
		contained "${mounts//:\/keys:ro/:/keys:rw}" "$environment" "${words[@]}" || fail "compose.yaml: ${words[*]}: $(cat "$scratch/said")"
	done <"$scratch/first"
	mapfile -t health <"$scratch/health"
	(cd "$scratch/bundle" && bundle "$mounts" "$environment" serve && exec runc run "$container") >"$scratch/log" 2>&1 &
	server=$!
	for ((tries = 0; tries < 300; tries++)); do
		runc exec "$container" "${health[@]}" >"$scratch/said" 2>&1 && break
		kill -0 $server 2>/dev/null || break
		sleep 0.2
	done
	{ [ $tries -lt 300 ] && kill -0 $server; } || fail "compose.yaml: no health: $(cat "$scratch/said" "$scratch/log")"
	code=0
	runc exec --env CUTTLE_LISTEN=0.0.0.0:8444 "$container" "${health[@]}" >"$scratch/said" 2>&1 || code=$?
	[ $code = 1 ] || fail "a port where nobody listens: exit $code: $(cat "$scratch/said")"
	runc exec "$container" /bin/sh -c true >"$scratch/said" 2>&1 && fail "there is a shell"
	runc kill "$container" TERM
	code=0
	wait $server || code=$?
	[ $code = 0 ] || fail "the server ends with $code: $(cat "$scratch/log")"
	echo "runc: a text, compose.yaml and its health check: passed"
fi

# ---- the other examples ----------------------------------------------------------------------------
python3 - packaging/examples/kubernetes.yaml "$version" <<-'END' || fail "kubernetes.yaml: see above"
	import sys, yaml
	for job in yaml.safe_load_all(open(sys.argv[1])):
	    one = job["spec"]["template"]["spec"]["containers"][0]
	    assert one["image"] == "cuttle:" + sys.argv[2] and one["command"][0] == "cuttle"
	    assert one["securityContext"]["readOnlyRootFilesystem"] is True and one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
END

# ---- arm64 -----------------------------------------------------------------------------------------
if [ -n "${CUTTLE_TEST_NIGHTLY-}" ]; then
	if command -v qemu-aarch64 >/dev/null; then
		emulated() { qemu-aarch64 -cpu neoverse-n1 -L "$scratch/arm64" "$scratch/arm64/usr/bin/cuttle" "$@"; }
		[ "$(emulated --version)" = "cuttle $version" ] || fail "arm64: --version"
		emulated generate -m "$scratch/tiny.gguf" -i "$scratch/in.jsonl" -o "$scratch/arm.jsonl" "${options[@]}" 2>"$scratch/log" || fail "arm64: $(cat "$scratch/log")"
		cmp "$scratch/native.jsonl" "$scratch/arm.jsonl" || fail "arm64: another text"
		emulated serve health 2>"$scratch/log" && fail "arm64: a server is healthy that is not there"
		grep -q 'no answer from' "$scratch/log" || fail "arm64: libcurl: $(cat "$scratch/log")"
		echo "arm64 under qemu-user: passed"
	else
		echo "SKIPPED: qemu-user is not installed, so the image for arm64 is not run"
	fi
fi

# ---- what is inside: SPDX ------------------------------------------------------------------------
packaging/sbom.py debs build-oci/"$native"/debs/*.deb >"$scratch/debs.spdx.json"
lists=("$scratch/debs.spdx.json" dist/*.spdx.json)
tests/spdx.py "${lists[@]}" || fail "a list of what is inside lacks something"
python3 -m venv "$scratch/spdx"
if "$scratch/spdx/bin/pip" install --quiet --disable-pip-version-check spdx-tools==0.8.5 >"$scratch/log" 2>&1; then
	for list in "${lists[@]}"; do
		said=$("$scratch/spdx/bin/pyspdxtools" -i "$list" 2>&1) || fail "$list: $said"
		[ -z "$said" ] || fail "$list: $said"
	done
	echo "spdx-tools: ${#lists[@]} lists are valid"
else
	echo "SKIPPED: PyPI has not given spdx-tools: $(tail -1 "$scratch/log")"
fi
echo "image: passed"
