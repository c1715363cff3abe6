from IPython.core.interactiveshell import InteractiveShell


def test_a_notebook_shows_what_was_wrong_as_one_sentence(capsys):
    shell = InteractiveShell(colors="nocolor")
    result = shell.run_cell("from microdata_price.model.privacy import PureDP\nPureDP(-1)")
    assert not result.success
    (line,) = capsys.readouterr().out.strip().splitlines()
    assert line.startswith("InputError: epsilon is -1")
