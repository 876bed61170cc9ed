"""One browser for all pages of this folder."""

import pytest

from web.browser import launch


@pytest.fixture(scope="session")
def browser():
    manager, browser = launch()
    yield browser
    browser.close()
    manager.stop()
