# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# title: Secrets: set, list, rm, what is refused, a real Secret Service in each of its states
# tier: full
# packages: python3 git dbus gnome-keyring libsecret-tools libsecret-1-dev
# timeout: 300
# About half a minute.
set -u
exec /usr/bin/python3 tests/host/secret.py
